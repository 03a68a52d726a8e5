"""Cells that are counted together, found once for the labels that they share: a request is counted by one look-up or two.

A cell is there from its first count on, as if it were looked up each time: what did not happen yet is not shown.
"""

from collections.abc import Mapping
from functools import cached_property

from gateway.telemetry import names
from gateway.telemetry.series import Number, Series, Spread

SeriesOf = Mapping[names.Metric, Series]


class Used:
    """Of the tokens that one model took."""

    def __init__(self, series: SeriesOf, model: str) -> None:
        self._series, self._model = series, model
        self.input = series[names.USED_INPUT].number(model)
        self.output = series[names.USED_OUTPUT].number(model)
        self.cached = series[names.USED_CACHED].number(model)
        self.input_size = series[names.INPUT_SIZE].spread(model)
        self.output_size = series[names.OUTPUT_SIZE].spread(model)

    @cached_property
    def reasoning(self) -> Number:
        return self._series[names.USED_REASONING].number(self._model)


class Ended:
    """Of requests of one route that one model answered and that ended alike."""

    def __init__(self, series: SeriesOf, route: str, model: str, outcome: names.Outcome) -> None:
        self._series, self._route, self._model = series, route, model
        self.requests = series[names.REQUESTS].number(route, model, outcome)
        self.duration = series[names.REQUEST_DURATION].spread(model, outcome)

    @cached_property
    def ttft(self) -> Spread:
        return self._series[names.TTFT].spread(self._model)

    @cached_property
    def tpot(self) -> Spread:
        return self._series[names.TPOT].spread(self._model)

    @cached_property
    def spend(self) -> Number:
        return self._series[names.SPEND].number(self._route, self._model)

    @cached_property
    def used(self) -> Used:
        return Used(self._series, self._model)


class Attempted:
    """Of attempts at one model."""

    def __init__(self, series: SeriesOf, model: str) -> None:
        self._series, self._model = series, model
        self.attempts = series[names.ATTEMPT_COUNT].number(model)
        self.duration = series[names.ATTEMPT_DURATION].spread(model)

    @cached_property
    def first_chunk(self) -> Spread:
        return self._series[names.FIRST_CHUNK].spread(self._model)


class Reused:
    """Of what was expected of the cache of one replica, and what it had."""

    def __init__(self, series: SeriesOf, model: str, replica: str) -> None:
        self.predicted = series[names.PREFIX_PREDICTED].number(model, replica)
        self.reused = series[names.PREFIX_REUSED].number(model, replica)
