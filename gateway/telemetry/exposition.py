"""Lines of the Prometheus text format 0.0.4. What of a line stays the same is written once, so a page is mostly joined.

The client library writes OpenMetrics, and says (in a test) what these lines have to be.
"""

from collections.abc import Callable

from prometheus_client.utils import floatToGoString

from gateway.telemetry import names

as_go_writes: Callable[[float], str] = floatToGoString

PLAIN_BELOW = 1_000_000
"""Counts below it are written without an exponent."""


def opening(metric: names.Metric) -> str:
    """
    >>> opening(names.IN_FLIGHT)
    '# HELP http_server_active_requests How many requests are being answered?\\n# TYPE http_server_active_requests gauge\\n'
    """
    name = names.prometheus_name(metric) + ("_total" if metric.kind == "counter" else "")
    told = metric.question.replace("\\", r"\\").replace("\n", r"\n")
    return f"# HELP {name} {told}\n# TYPE {name} {metric.kind}\n"


def heads(metric: names.Metric, values: tuple[str, ...]) -> tuple[str, ...]:
    """What stands before the values of one label set: one line, or those of a histogram: its buckets, count and sum."""
    name = names.prometheus_name(metric)
    labels = dict(zip(map(names.prometheus_label, metric.labels), values, strict=True))
    if metric.kind != "histogram":
        return (f"{name}{'_total' if metric.kind == 'counter' else ''}{braced(labels)} ",)
    ends = [*map(as_go_writes, metric.buckets), "+Inf"]
    buckets = [f"{name}_bucket{braced({**labels, 'le': end})} " for end in ends]
    return (*buckets, f"{name}_count{braced(labels)} ", f"{name}_sum{braced(labels)} ")


def braced(labels: dict[str, str]) -> str:
    r"""
    >>> braced({"b": 'say "hi"', "a": "x"}), braced({})
    ('{a="x",b="say \\"hi\\""}', '')
    """
    pairs = [f'{name}="{escaped(value)}"' for name, value in sorted(labels.items())]
    return f"{{{','.join(pairs)}}}" if pairs else ""


def escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def written(number: float) -> str:
    """
    >>> written(3), written(0.25), written(1_234_567)
    ('3.0', '0.25', '1.234567e+06')
    """
    if type(number) is int and 0 <= number < PLAIN_BELOW:
        return f"{number}.0"
    return as_go_writes(number)
