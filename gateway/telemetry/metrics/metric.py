"""What a metric is, what it is counted by and in which buckets, and what it is called at /metrics."""

from typing import Literal

import msgspec

from gateway.telemetry import names, words

DURATION_BUCKETS = tuple(0.01 * 2**k for k in range(14))
TTFT_BUCKETS = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
TPOT_BUCKETS = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5)
TOKEN_BUCKETS = tuple(float(4**k) for k in range(14))
DECISION_BUCKETS = (1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 5e-2)


OfPolicy = Literal["routes", "models", "replicas", "experiments", "variants", "shadows", "budgets"]


class Label(msgspec.Struct, frozen=True):
    """A metric's label: its closed set of `values`, or the models or routes that the policy in force names, or the first
    replicas that were asked."""

    name: str
    values: tuple[str, ...] = ()
    of_policy: OfPolicy | Literal[""] = ""


class Metric(msgspec.Struct, frozen=True, eq=False):
    """One metric by its OpenTelemetry name. `question` is what an operator asks it. Each is written once, so it is known by
    identity: to hash its labels and buckets takes longer than to count."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    unit: str
    question: str
    labels: tuple[Label, ...] = ()
    buckets: tuple[float, ...] = ()


def counter(name: str, question: str, *labels: Label, unit: str = "") -> Metric:
    return Metric(name, "counter", unit, question, labels)


def gauge(name: str, question: str, *labels: Label, unit: str = "") -> Metric:
    return Metric(name, "gauge", unit, question, labels)


def histogram(name: str, question: str, buckets: tuple[float, ...], *labels: Label, unit: str = "s") -> Metric:
    return Metric(name, "histogram", unit, question, labels, buckets)


BY_ROUTE = Label(names.ROUTE_NAME, of_policy="routes")
BY_MODEL = Label(names.RESPONSE_MODEL, of_policy="models")
BY_ASKED_MODEL = Label(names.REQUEST_MODEL, of_policy="models")
BY_REPLICA = Label(names.REPLICA, of_policy="replicas")
BY_OUTCOME = Label(names.OUTCOME, words.OUTCOMES)
BY_KIND = Label(names.ERROR_TYPE, words.KINDS)

BY_EXPERIMENT = Label(names.EXPERIMENT, of_policy="experiments")
BY_VARIANT = Label(names.VARIANT, of_policy="variants")
BY_SHADOW = Label(names.SHADOW, of_policy="shadows")
BY_BUDGET = Label(names.BUDGET, of_policy="budgets")


def prometheus_name(metric: Metric) -> str:
    """The name at /metrics, without the `_total` that a counter gets.

    >>> prometheus_name(Metric("gen_ai.server.time_to_first_token", "histogram", "s", "How long?"))
    'gen_ai_server_time_to_first_token_seconds'
    """
    suffix = {"s": "_seconds", "": ""}.get(metric.unit, f"_{metric.unit}")
    return metric.name.replace(".", "_") + suffix


def prometheus_label(label: Label) -> str:
    return label.name.replace(".", "_")
