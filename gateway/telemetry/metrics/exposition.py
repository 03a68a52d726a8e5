"""Lines of the Prometheus text format 0.0.4 and of OpenMetrics 1.0. What of a line stays the same is written once, so a page is
mostly joined: it is made on the event loop, and must not hold it up. Tests hold it to what the client library reads and writes.
"""

from typing import NamedTuple

from gateway.telemetry import words
from gateway.telemetry.metrics.metric import Metric, prometheus_label, prometheus_name

METRICS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = "application/openmetrics-text"
OPENMETRICS_CONTENT_TYPE = f"{OPENMETRICS}; version=1.0.0; charset=utf-8"

BEYOND = {"inf": "+Inf", "-inf": "-Inf", "nan": "NaN"}

PLAIN_DIGITS = 6
PLAIN_BELOW = 10**PLAIN_DIGITS
"""Counts below it are written without an exponent."""


class Exemplar(NamedTuple):
    """A trace that is an example of what a bucket counts. `at` in seconds since the epoch."""

    trace_id: str
    amount: float
    at: float


def opening(metric: Metric, *, openmetrics: bool) -> str:
    """
    >>> from gateway.telemetry.metrics.instruments import IN_FLIGHT
    >>> opening(IN_FLIGHT, openmetrics=True)
    '# HELP http_server_active_requests How many requests are being answered?\\n# TYPE http_server_active_requests gauge\\n'
    """
    has_total = metric.kind == "counter" and not openmetrics
    name = prometheus_name(metric) + ("_total" if has_total else "")
    return f"# HELP {name} {metric.question}\n# TYPE {name} {metric.kind}\n"


def line(head: str, number: float, exemplar: Exemplar | None) -> str:
    """
    >>> line("m ", 2, None), line("m ", 2, Exemplar("0af7", 0.25, 1.5))
    ('m 2.0\\n', 'm 2.0 # {trace_id="0af7"} 0.25 1.5\\n')
    """
    if exemplar is None:
        return f"{head}{written(number)}\n"
    beside = f'{{{words.EXEMPLAR}="{exemplar.trace_id}"}} {written(exemplar.amount)} {exemplar.at}'
    return f"{head}{written(number)} # {beside}\n"


def heads(metric: Metric, values: tuple[str, ...]) -> tuple[str, ...]:
    """What stands before the values of one label set: one line, or those of a histogram: its buckets, count and sum."""
    name = prometheus_name(metric)
    labels = dict(zip(map(prometheus_label, metric.labels), values, strict=True))
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


def as_go_writes(number: float) -> str:
    """As Prometheus's own tools write it, so that a bucket has one name wherever it is written.

    >>> as_go_writes(0.25), as_go_writes(1_000_000), as_go_writes(67_108_864.5)
    ('0.25', '1e+06', '6.71088645e+07')
    """
    whole, point, part = repr(float(number)).partition(".")
    if not point or len(whole) <= PLAIN_DIGITS or number < 0:
        return BEYOND.get(whole, f"{whole}{point}{part}")
    digits = f"{whole[1:]}{part}".rstrip("0")
    return f"{whole[0]}{'.' if digits else ''}{digits}e+{len(whole) - 1:02d}"


def written(number: float) -> str:
    """
    >>> written(3), written(0.25), written(1_234_567)
    ('3.0', '0.25', '1.234567e+06')
    """
    if type(number) is int and 0 <= number < PLAIN_BELOW:
        return f"{number}.0"
    return as_go_writes(number)
