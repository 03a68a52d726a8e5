"""What can be measured of a request, by the names that a policy file uses."""

import re
from collections.abc import Mapping

from policies.experiments.plan import Metric

MEASURED: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("error_rate", "error", "binary", "down"),
        Metric("abandon_rate", "abandoned", "binary", "down"),
        Metric("escalation_rate", "escalated", "binary", "down"),
        Metric("regenerate_rate", "regenerated", "binary", "down"),
        Metric("cost_per_request", "microusd", "mean", "down"),
        Metric("cost_per_success", "microusd_of_success", "ratio", "down"),
        Metric("output_tokens", "output_tokens", "mean", "down"),
        Metric("ttft", "ttft_ms", "mean", "down"),
        Metric("tpot", "tpot_ms", "mean", "down"),
        Metric("duration", "duration_ms", "mean", "down"),
        Metric("task_success", "success", "binary", "up"),
        Metric("feedback_score", "score", "mean", "up"),
    )
}
"""error_rate: no answer, or one that was cut; abandon_rate: the client left; task_success: of what callers judged, was good and
needed no correction; feedback_score: their score between 0 and 1."""

LATER = frozenset(("success", "score", "regenerated"))
"""Sources of which a request says nothing when it is over: they are told of those alone that are remembered, which whoever was
not drawn is not."""

TIMES = ("ttft", "tpot", "duration")
"""Of these there are quantiles too."""

QUANTILE = re.compile(rf"({'|'.join(TIMES)})\.p([1-9][0-9]?(?:\.[0-9])?)")

NAMES = (*MEASURED, *[f"{time}.{quantile}" for time in TIMES for quantile in ("p50", "p95", "p99")])
"""For suggestions."""


def metric_of(name: str) -> Metric | None:
    """The metric of this name; None where there is none.

    >>> metric_of("ttft.p95").quantile, metric_of("speed")
    (0.95, None)
    """
    found = QUANTILE.fullmatch(name)
    if found is None:
        return MEASURED.get(name)
    return Metric(name, MEASURED[found[1]].source, "quantile", "down", round(float(found[2]) / 100, 6))
