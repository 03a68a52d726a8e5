"""Prometheus metrics of one process, with bounded series; nothing global is registered."""

import re
from collections.abc import Collection, Iterable, Mapping
from itertools import product
from math import prod
from threading import Lock

from backends.messages import Usage
from gateway.budgets.told import Budgeted
from gateway.request.hedged import Hedged
from gateway.request.settlement import Settlement
from gateway.telemetry import names
from gateway.telemetry.outcome import outcome
from gateway.telemetry.series import Series
from policies.decision import Call
from policies.experiments.plan import Assignment, Experiment
from policies.policy import Choose

EOF = "# EOF\n"
"""The end of a page in OpenMetrics."""

PLACE = re.compile(r"[\w.:\[\]-]{1,200}")

MAX_NAMES = 100
"""Models, and routes, that get labels of their own; the others count as `other`."""

MAX_REPLICAS = 200
"""Replicas that get labels of their own, in the order in which they were first asked; the others count as `other`."""

MAX_SEEDED = 600
"""Label sets of one metric that are shown at 0 before they happen."""


class Metrics:
    """Every metric of `names.METRICS`. Values that the policy in force does not name count as `other`.

    Names of earlier policies keep their series, so counters never run backwards.
    """

    def __init__(self) -> None:
        self._series = {metric: Series(metric) for metric in names.METRICS}
        self._from_any_thread = Lock()
        self._known: Mapping[str, set[str]] = {
            "routes": {names.NONE},
            "models": {names.NONE},
            "replicas": set(),
            "experiments": set(),
            "variants": set(),
            "shadows": set(),
            "budgets": set(),
        }
        self._seed()

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
            room = MAX_NAMES - len(self._known[kind])
            self._known[kind].update([name for name in fresh if name not in self._known[kind]][:room])
        self._series[names.POLICY_INFO].only(policy_hash)
        self._series[names.RELOAD_COUNT].record(1, "ok")
        self._seed()

    def policy_refused(self) -> None:
        self._series[names.RELOAD_COUNT].record(1, "failed")

    def steered(self, route: str, choose: Choose, realised: float | None) -> None:
        label = self._name("routes", route)
        self._series[names.LINE].show(choose.line.loss, label)
        self._series[names.TARGET].show(choose.target.percent, label)
        if realised is not None:
            self._series[names.REALISED].show(realised, label)

    def arrived(self) -> None:
        self._series[names.IN_FLIGHT].record(1)

    def decided(self, decision_us: int | None, estimated: str | None) -> None:
        """`estimated` is one of `names.ESTIMATES`, or None when no estimate was asked for."""
        if decision_us is not None:
            self._series[names.DECISION_DURATION].record(decision_us / 1e6)
        if estimated is not None:
            self._series[names.ESTIMATE_COUNT].record(1, estimated)

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
        model = self._name("models", call.model)
        self._series[names.ATTEMPT_COUNT].record(1, model)
        self._series[names.ATTEMPT_DURATION].record(duration_s, model)
        if first_content_s is not None:
            self._series[names.FIRST_CHUNK].record(first_content_s, model)
        if error_kind and error_kind != "cancelled":
            kind = error_kind if error_kind in names.KINDS else names.OTHER
            self._series[names.UPSTREAM_ERRORS].record(1, model, kind)
        if usage is not None and predicted_tokens is not None:
            replica = names.OTHER if model == names.OTHER else self._replica(call.replica)
            self._series[names.PREFIX_PREDICTED].record(predicted_tokens, model, replica)
            self._series[names.PREFIX_REUSED].record(usage.cached_tokens, model, replica)

    def settled(self, settlement: Settlement, trace_id: str = "") -> None:
        """`trace_id` of its trace, if that was kept."""
        decision, answered_by = settlement.decision, settlement.answered_by
        route = self._name("routes", decision.route if decision else names.NONE)
        model = self._name("models", answered_by.model if answered_by else names.NONE)
        ended = outcome(settlement)
        self._series[names.IN_FLIGHT].record(-1)
        self._series[names.REQUESTS].record(1, route, model, ended)
        self._series[names.REQUEST_DURATION].record_of_trace(settlement.duration_ms / 1e3, trace_id, model, ended)
        if settlement.ttft_ms is not None:
            self._series[names.TTFT].record_of_trace(settlement.ttft_ms / 1e3, trace_id, model)
        if (tpot_s := tpot_of(settlement)) is not None:
            self._series[names.TPOT].record_of_trace(tpot_s, trace_id, model)
        if settlement.microusd:
            self._series[names.SPEND].record(settlement.microusd, route, model)
        if settlement.usage is not None:
            self._used(settlement.usage, model)
        if settlement.judgement:
            self.judged(settlement)
        if settlement.unretried:
            self._series[names.UNRETRIED].record(1, route)
        if settlement.hedged is not None:
            self._hedged(settlement.hedged)
        if settlement.budgeted is not None:
            self._budgeted(settlement.budgeted)
        for found in decision.assignments if decision else ():
            self._tried(found, settlement, ended)

    def _tried(self, found: Assignment, settlement: Settlement, ended: str) -> None:
        labels = self._name("experiments", found.experiment), self._name("variants", found.variant)
        self._series[names.TRIED].record(1, *labels, ended)
        if settlement.microusd:
            self._series[names.TRIED_SPEND].record(settlement.microusd, *labels)
        if settlement.ttft_ms is not None:
            self._series[names.TRIED_TTFT].record(settlement.ttft_ms / 1e3, *labels)

    def _hedged(self, told: Hedged) -> None:
        model = self._name("models", told.second.model)
        self._series[names.HEDGES].record(1, model, told.result)
        if told.usage is not None:
            self._series[names.HEDGE_SPEND].record(told.microusd, model)
            self._used(told.usage, model)

    def _budgeted(self, told: Budgeted) -> None:
        self._series[names.RESERVED].record(1, told.result, told.by)
        for budget, share in told.taken.items():
            self._series[names.BUDGET_TAKEN].show(100 * share, self._name("budgets", budget))
        if told.spent:
            self._series[names.TURNED_AWAY].record(1, self._name("budgets", told.spent), told.result)

    def judged(self, settlement: Settlement) -> None:
        """An answer that was held back: what became of it, and what was given up."""
        route = self._name("routes", settlement.decision.route if settlement.decision else names.NONE)
        self._series[names.ANSWERS_JUDGED].record(1, route, settlement.judgement)
        if settlement.beside is not None and settlement.beside_usage is not None:
            self._used(settlement.beside_usage, self._name("models", settlement.beside.model))
        gave_up = settlement.abandoned_by
        if gave_up is not None and settlement.abandoned is not None:
            model = self._name("models", gave_up.model)
            self._series[names.ABANDONED_SPEND].record(settlement.abandoned_microusd, route, model)
            self._used(settlement.abandoned, model)

    def shadow_ended(self, shadow: str, result: str) -> None:
        """`result` is one of `gateway.shadows.chapter.RESULTS`."""
        self._series[names.SHADOWED].record(1, self._name("shadows", shadow), result)

    def shadow_asked(self, shadow: str, took_s: float, microusd: int) -> None:
        label = self._name("shadows", shadow)
        self._series[names.SHADOW_DURATION].record(took_s, label)
        if microusd:
            self._series[names.SHADOW_SPEND].record(microusd, label)

    def dropped(self, signal: str, count: int) -> None:
        """`signal` is one of `names.SIGNALS`. The one metric that other threads count."""
        with self._from_any_thread:
            self._series[names.TELEMETRY_DROPPED].record(count, signal)

    def _used(self, usage: Usage, model: str) -> None:
        self._series[names.USED_INPUT].record(usage.prompt_tokens, model)
        self._series[names.USED_OUTPUT].record(usage.completion_tokens, model)
        self._series[names.USED_CACHED].record(usage.cached_tokens, model)
        self._series[names.INPUT_SIZE].record(usage.prompt_tokens, model)
        self._series[names.OUTPUT_SIZE].record(usage.completion_tokens, model)
        if usage.reasoning_tokens:
            self._series[names.USED_REASONING].record(usage.reasoning_tokens, model)

    def _name(self, kind: str, name: str) -> str:
        return name if name in self._known[kind] else names.OTHER

    def _replica(self, name: str) -> str:
        """Host and port of its address, which say enough."""
        known, shown = self._known["replicas"], place_of(name)
        if len(known) < MAX_REPLICAS:
            known.add(shown)
        return shown if shown in known else names.OTHER

    def _seed(self) -> None:
        for metric, series in self._series.items():
            if (metric.kind != "gauge" or not metric.labels) and names.BY_REPLICA not in metric.labels:
                choices = [self._values(label) for label in metric.labels]
                if prod(map(len, choices)) <= MAX_SEEDED:
                    series.seed(product(*choices))

    def _values(self, label: names.Label) -> Collection[str]:
        return self._known[label.of_policy] if label.of_policy else label.values


def tpot_of(settlement: Settlement) -> float | None:
    """Seconds a token after the first, of an answer that was streamed."""
    usage = settlement.usage
    if not settlement.stream or settlement.ttft_ms is None or usage is None or usage.completion_tokens < 2:
        return None
    return (settlement.duration_ms - settlement.ttft_ms) / 1e3 / (usage.completion_tokens - 1)


def place_of(replica: str) -> str:
    """
    >>> place_of("http://10.0.0.1:8000/v1"), place_of("in-process:small"), place_of("http://user:word@h/v1")
    ('10.0.0.1:8000', 'in-process:small', 'other')
    """
    place = replica.partition("//")[2].partition("/")[0] if "//" in replica else replica
    return place if PLACE.fullmatch(place) else names.OTHER
