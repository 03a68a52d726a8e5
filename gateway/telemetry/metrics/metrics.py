"""Prometheus metrics of one process, with bounded series; nothing global is registered."""

from collections.abc import Iterable
from itertools import product
from math import prod
from threading import Lock
from typing import TypeVar

from backends.messages import Usage
from gateway.budgets.told import Budgeted
from gateway.request.hedging.hedged import Hedged
from gateway.request.settlement import End, Settlement
from gateway.telemetry import words
from gateway.telemetry.metrics import instruments
from gateway.telemetry.metrics.cells import Attempted, Ended, Reused, Used
from gateway.telemetry.metrics.labels import Labels
from gateway.telemetry.metrics.metric import BY_REPLICA
from gateway.telemetry.metrics.series import Series
from gateway.telemetry.outcome import outcome
from policies.decision import Call
from policies.experiments.plan import Assignment, Experiment
from policies.policy import Choose

EOF = "# EOF\n"
"""The end of a page in OpenMetrics."""

MAX_SEEDED = 600
"""Label sets of one metric that are shown at 0 before they happen."""

MAX_FOUND = 1_000
"""Groups of cells of a kind that are remembered; then they are found again."""

K = TypeVar("K")
C = TypeVar("C")


class Metrics:
    """Every metric of `instruments.METRICS`. Values that the policy in force does not name count as `other`.

    Names of earlier policies keep their series, so counters never run backwards.
    """

    def __init__(self) -> None:
        self._series = {metric: Series(metric) for metric in instruments.METRICS}
        self._from_any_thread = Lock()
        self._labels = Labels()
        self._seed()
        self.in_flight = self._series[instruments.IN_FLIGHT].number()
        self._deciding = self._series[instruments.DECISION_DURATION].spread()
        self._estimates = {said: self._series[instruments.ESTIMATE_COUNT].number(said) for said in words.ESTIMATES}
        self._ended: dict[tuple[str, str, End, bool], Ended] = {}
        self._attempted: dict[str, Attempted] = {}
        self._reused: dict[tuple[str, str], Reused] = {}

    def page(self, *, exemplars: bool = False) -> bytes:
        """The exposition text: Prometheus text format 0.0.4, or OpenMetrics with exemplars."""
        lines = [line for series in self._series.values() for line in series.lines(exemplars=exemplars)]
        return "".join([*lines, EOF] if exemplars else lines).encode()

    def policy_loaded(
        self,
        policy_hash: str,
        routes: Iterable[str],
        models: Iterable[str],
        experiments: Iterable[Experiment] = (),
        *,
        shadows: Iterable[str] = (),
        budgets: Iterable[str] = (),
    ) -> None:
        """Take the names of a policy that is now in force."""
        tried = tuple(experiments)
        variants = [variant.name for experiment in tried for variant in experiment.variants]
        named = (("experiments", [experiment.name for experiment in tried]), ("variants", variants))
        for kind, fresh in (("routes", routes), ("models", models), ("shadows", shadows), ("budgets", budgets), *named):
            self._labels.learn(kind, fresh)
        self._series[instruments.POLICY_INFO].only(policy_hash)
        self._series[instruments.RELOAD_COUNT].record(1, "ok")
        self._seed()

    def policy_refused(self) -> None:
        self._series[instruments.RELOAD_COUNT].record(1, "failed")

    def steered(self, route: str, choose: Choose, realised: float | None) -> None:
        label = self._labels.name("routes", route)
        self._series[instruments.LINE].show(choose.line.loss, label)
        self._series[instruments.TARGET].show(choose.target.percent, label)
        if realised is not None:
            self._series[instruments.REALISED].show(realised, label)

    def decided(self, decision_us: int | None, estimated: str | None) -> None:
        """`estimated` is one of `words.ESTIMATES`, or None when no estimate was asked for."""
        if decision_us is not None:
            self._deciding.record(decision_us / 1e6)
        if estimated is not None:
            self._estimates[estimated].value += 1

    def attempted(  # noqa: PLR0917  one attempt
        self,
        call: Call,
        duration_s: float,
        error_kind: str,
        usage: Usage | None,
        predicted_tokens: int | None,
        first_content_s: float | None = None,
    ) -> None:
        """`predicted_tokens` None: residency was not consulted, so the attempt says nothing of its quality."""
        cells = self._attempted.get(call.model) or self._attempts_at(call.model)
        cells.attempts.value += 1
        cells.duration.record(duration_s)
        if first_content_s is not None:
            cells.first_chunk.record(first_content_s)
        if error_kind and error_kind != "cancelled":
            kind = error_kind if error_kind in words.KINDS else words.OTHER
            self._series[instruments.UPSTREAM_ERRORS].record(1, self._labels.name("models", call.model), kind)
        if usage is not None and predicted_tokens is not None:
            found = self._reused.get((call.model, call.replica)) or self._reuse_at(call)
            found.predicted.value += predicted_tokens
            found.reused.value += usage.cached_tokens

    def settled(self, settlement: Settlement, trace_id: str = "") -> None:
        """`trace_id` of its trace, if that was kept."""
        decision, answered_by = settlement.decision, settlement.answered_by
        route = decision.route if decision is not None else words.NONE
        model = answered_by.model if answered_by is not None else words.NONE
        ttft_ms, usage = settlement.ttft_ms, settlement.usage
        cells = self._ended.get((route, model, settlement.end, ttft_ms is None)) or self._ends_at(
            route, model, settlement
        )
        self.in_flight.value -= 1
        cells.requests.value += 1
        cells.duration.record(settlement.duration_ms / 1e3, trace_id)
        if ttft_ms is not None:
            cells.ttft.record(ttft_ms / 1e3, trace_id)
            if settlement.stream and (tpot_s := tpot_of(settlement)) is not None:
                cells.tpot.record(tpot_s, trace_id)
        if settlement.microusd:
            cells.spend.value += settlement.microusd
        if usage is not None:
            use(cells.used, usage)
        if settlement.judgement:
            self.judged(settlement)
        if settlement.unretried:
            self._series[instruments.UNRETRIED].record(1, self._labels.name("routes", route))
        if settlement.hedged is not None:
            self._hedged(settlement.hedged)
        if settlement.budgeted is not None:
            self._budgeted(settlement.budgeted)
        if decision is not None and decision.assignments:
            for found in decision.assignments:
                self._tried(found, settlement, outcome(settlement))

    def _ends_at(self, route: str, model: str, settlement: Settlement) -> Ended:
        known = self._labels.name("routes", route), self._labels.name("models", model)
        key = route, model, settlement.end, settlement.ttft_ms is None
        found = Ended(self._series, *known, outcome(settlement))
        return kept(self._ended, key, found, is_known=known == (route, model))

    def _attempts_at(self, model: str) -> Attempted:
        known = self._labels.name("models", model)
        return kept(self._attempted, model, Attempted(self._series, known), is_known=known == model)

    def _reuse_at(self, call: Call) -> Reused:
        model = self._labels.name("models", call.model)
        replica = words.OTHER if model == words.OTHER else self._labels.replica(call.replica)
        found, is_known = Reused(self._series, model, replica), words.OTHER not in {model, replica}
        return kept(self._reused, (call.model, call.replica), found, is_known=is_known)

    def _tried(self, found: Assignment, settlement: Settlement, ended: str) -> None:
        labels = self._labels.name("experiments", found.experiment), self._labels.name("variants", found.variant)
        self._series[instruments.TRIED].record(1, *labels, ended)
        if settlement.microusd:
            self._series[instruments.TRIED_SPEND].record(settlement.microusd, *labels)
        if settlement.ttft_ms is not None:
            self._series[instruments.TRIED_TTFT].record(settlement.ttft_ms / 1e3, *labels)

    def _hedged(self, told: Hedged) -> None:
        model = self._labels.name("models", told.second.model)
        self._series[instruments.HEDGES].record(1, model, told.result)
        if told.usage is not None:
            self._series[instruments.HEDGE_SPEND].record(told.microusd, model)
            self._used(told.usage, model)

    def _budgeted(self, told: Budgeted) -> None:
        self._series[instruments.RESERVED].record(1, told.result, told.by)
        for budget, share in told.taken.items():
            self._series[instruments.BUDGET_TAKEN].show(100 * share, self._labels.name("budgets", budget))
        if told.spent:
            self._series[instruments.TURNED_AWAY].record(1, self._labels.name("budgets", told.spent), told.result)

    def judged(self, settlement: Settlement) -> None:
        """An answer that was held back: what became of it, and what was given up."""
        route = self._labels.name("routes", settlement.decision.route if settlement.decision else words.NONE)
        self._series[instruments.ANSWERS_JUDGED].record(1, route, settlement.judgement)
        if settlement.beside is not None and settlement.beside_usage is not None:
            self._used(settlement.beside_usage, self._labels.name("models", settlement.beside.model))
        gave_up = settlement.abandoned_by
        if gave_up is not None and settlement.abandoned is not None:
            model = self._labels.name("models", gave_up.model)
            self._series[instruments.ABANDONED_SPEND].record(settlement.abandoned_microusd, route, model)
            self._used(settlement.abandoned, model)

    def shadow_ended(self, shadow: str, result: str) -> None:
        """`result` is one of `gateway.shadows.chapter.RESULTS`."""
        self._series[instruments.SHADOWED].record(1, self._labels.name("shadows", shadow), result)

    def shadow_asked(self, shadow: str, took_s: float, microusd: int) -> None:
        label = self._labels.name("shadows", shadow)
        self._series[instruments.SHADOW_DURATION].record(took_s, label)
        if microusd:
            self._series[instruments.SHADOW_SPEND].record(microusd, label)

    def dropped(self, signal: str, count: int) -> None:
        """`signal` is one of `words.SIGNALS`. The one metric that other threads count."""
        with self._from_any_thread:
            self._series[instruments.TELEMETRY_DROPPED].record(count, signal)

    def _used(self, usage: Usage, model: str) -> None:
        use(Used(self._series, model), usage)

    def _seed(self) -> None:
        for metric, series in self._series.items():
            if (metric.kind != "gauge" or not metric.labels) and BY_REPLICA not in metric.labels:
                choices = [self._labels.values(label) for label in metric.labels]
                if prod(map(len, choices)) <= MAX_SEEDED:
                    series.seed(product(*choices))


def kept(found: dict[K, C], key: K, cells: C, *, is_known: bool) -> C:
    """`cells`, to be found again under `key` where its names are known: those stay known, and are labels of their own."""
    if is_known:
        if len(found) >= MAX_FOUND:
            found.clear()
        found[key] = cells
    return cells


def use(cells: Used, usage: Usage) -> None:
    cells.input.value += usage.prompt_tokens
    cells.output.value += usage.completion_tokens
    cells.cached.value += usage.cached_tokens
    cells.input_size.record(usage.prompt_tokens)
    cells.output_size.record(usage.completion_tokens)
    if usage.reasoning_tokens:
        cells.reasoning.value += usage.reasoning_tokens


def tpot_of(settlement: Settlement) -> float | None:
    """Seconds a token after the first, of an answer that was streamed."""
    usage = settlement.usage
    if not settlement.stream or settlement.ttft_ms is None or usage is None or usage.completion_tokens < 2:
        return None
    return (settlement.duration_ms - settlement.ttft_ms) / 1e3 / (usage.completion_tokens - 1)
