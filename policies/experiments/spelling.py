"""Values of metrics as a person writes them."""

from policies.experiments.plan import Metric

UNITS = {"microusd": "$", "microusd_of_success": "$", "ttft_ms": "ms", "tpot_ms": "ms", "duration_ms": "ms"}


def values(metric: Metric, control: float | None, treat: float | None) -> str:
    return f"{value(metric, treat)} against {value(metric, control)}"


def value(metric: Metric, amount: float | None) -> str:
    """
    >>> value(Metric("error_rate", "error", "binary", "down"), 0.031), value(Metric("ttft", "ttft_ms", "mean", "down"), 812.4)
    ('3.1%', '812 ms')
    """
    if amount is None:
        return "nothing"
    unit = UNITS.get(metric.source, "")
    if unit == "$":
        return f"${amount / 1e6:.6f}"
    if metric.kind == "binary":
        return f"{amount:.3g}" if amount > 1 else f"{100 * amount:.3g}%"
    return f"{amount:.3g} ms" if unit and amount < 100 else f"{amount:.0f} ms" if unit else f"{amount:.4g}"


def spread(metric: Metric, change: float | None, low: float | None, high: float | None) -> str:
    """The change with its interval, as a person writes it."""
    if change is None:
        return ""
    unit = " pp" if metric.kind == "binary" else "" if metric.source == "score" else "%"
    times = 1.0 if metric.source == "score" else 100.0
    ends = "" if low is None or high is None else f" (between {times * low:+.3g} and {times * high:+.3g})"
    return f", {times * change:+.3g}{unit}{ends}"
