"""Cells that are counted together, found once for the labels that they share: a request is counted by one look-up or two.

A cell is there from its first count on, as if it were looked up each time: what did not happen yet is not shown.
"""

from collections.abc import Mapping
from functools import cached_property

from gateway.telemetry import words
from gateway.telemetry.metrics import instruments
from gateway.telemetry.metrics.metric import Metric
from gateway.telemetry.metrics.series import Number, Series, Spread

SeriesOf = Mapping[Metric, Series]


class Used:
    """Of the tokens that one model took."""

    def __init__(self, series: SeriesOf, model: str) -> None:
        self._series, self._model = series, model
        self.input = series[instruments.USED_INPUT].number(model)
        self.output = series[instruments.USED_OUTPUT].number(model)
        self.cached = series[instruments.USED_CACHED].number(model)
        self.input_size = series[instruments.INPUT_SIZE].spread(model)
        self.output_size = series[instruments.OUTPUT_SIZE].spread(model)

    @cached_property
    def reasoning(self) -> Number:
        return self._series[instruments.USED_REASONING].number(self._model)


class Ended:
    """Of requests of one route that one model answered and that ended alike."""

    def __init__(self, series: SeriesOf, route: str, model: str, outcome: words.Outcome) -> None:
        self._series, self._route, self._model = series, route, model
        self.requests = series[instruments.REQUESTS].number(route, model, outcome)
        self.duration = series[instruments.REQUEST_DURATION].spread(model, outcome)

    @cached_property
    def ttft(self) -> Spread:
        return self._series[instruments.TTFT].spread(self._model)

    @cached_property
    def tpot(self) -> Spread:
        return self._series[instruments.TPOT].spread(self._model)

    @cached_property
    def spend(self) -> Number:
        return self._series[instruments.SPEND].number(self._route, self._model)

    @cached_property
    def used(self) -> Used:
        return Used(self._series, self._model)


class Attempted:
    """Of attempts at one model."""

    def __init__(self, series: SeriesOf, model: str) -> None:
        self._series, self._model = series, model
        self.attempts = series[instruments.ATTEMPT_COUNT].number(model)
        self.duration = series[instruments.ATTEMPT_DURATION].spread(model)

    @cached_property
    def first_chunk(self) -> Spread:
        return self._series[instruments.FIRST_CHUNK].spread(self._model)


class Reused:
    """Of what was expected of the cache of one replica, and what it had."""

    def __init__(self, series: SeriesOf, model: str, replica: str) -> None:
        self.predicted = series[instruments.PREFIX_PREDICTED].number(model, replica)
        self.reused = series[instruments.PREFIX_REUSED].number(model, replica)
