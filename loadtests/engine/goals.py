"""What the engine is held to, as ratios within one run: a gate that must hold and an aim. A table, so it can be read."""

from collections.abc import Callable
from dataclasses import dataclass

from loadtests.engine.contenders import Tree
from loadtests.engine.summary import at, branch

Value = Callable[[Tree], float | None]


@dataclass(frozen=True)
class Goal:
    """`value` of the results is to be at least `gate`, or at most it where less is better."""

    name: str
    gate: float
    aim: float
    value: Value
    less_is_better: bool = False

    def verdict(self, value: float) -> str:
        sign = -1 if self.less_is_better else 1
        if sign * value >= sign * self.aim:
            return "aim"
        return "gate" if sign * value >= sign * self.gate else "MISSED"


def number(*path: str) -> Value:
    return lambda results: at(results, path)


def best(*values: Value) -> Value:
    """The largest of those that were measured."""

    def of(results: Tree) -> float | None:
        found = [value for each in values if (value := each(results)) is not None]
        return max(found, default=None)

    return of


def least(*path: str) -> Value:
    """The smallest of the numbers that stand at a path."""

    def of(results: Tree) -> float | None:
        found = branch(results, path)
        return min((value for value in found.values() if isinstance(value, int | float)), default=None)

    return of


def ratio(over: Value, under: Value) -> Value:
    def of(results: Tree) -> float | None:
        a, b = over(results), under(results)
        return None if a is None or not b else a / b

    return of


def decode(group: str, name: str, batch: int) -> Value:
    return number(group, name, "decode_tps", str(batch))


def prefill(group: str, name: str) -> Value:
    return number(group, name, "prefill_tps")


def share(precision: str) -> Value:
    """Of the bandwidth bound, at batch 1, both of the same round."""
    return number("ours", precision, "bandwidth_share")


def any_of(group: str, batch: int) -> Value:
    """The fastest of ours, of the torch path, or of transformers."""
    names = {
        "ours": ("float32", "bfloat16", "int8", "int4"),
        "torch": ("float32", "bfloat16", "int8", "int4"),
        "peers": ("transformers-float32", "transformers-bfloat16"),
    }[group]
    return best(*(decode(group, name, batch) for name in names))


def speedup(task: str) -> Value:
    return number("speculation", task, "speedup")


def beyond(precision: str) -> Value:
    return number("ours", precision, "memory_mb", "beyond")


def seconds_to_load(precision: str) -> Value:
    return number("ours", precision, "load_s")


PRECISIONS = ("float32", "bfloat16", "int8", "int4")
SHARES = {"float32": (0.85, 0.90), "bfloat16": (0.70, 0.85), "int8": (0.55, 0.75), "int4": (0.45, 0.65)}
GOALS = (
    Goal("int8 b1 / llama.cpp Q8_0", 1.5, 2, ratio(decode("ours", "int8", 1), decode("peers", "llamacpp-Q8_0", 1))),
    Goal("int4 b1 / llama.cpp Q4_0", 1.1, 1.6, ratio(decode("ours", "int4", 1), decode("peers", "llamacpp-Q4_0", 1))),
    Goal("int8 b16 / llama.cpp Q4_0", 1.7, 3, ratio(decode("ours", "int8", 16), decode("peers", "llamacpp-Q4_0", 16))),
    Goal("int4 b16 / llama.cpp Q4_0", 1.7, 3, ratio(decode("ours", "int4", 16), decode("peers", "llamacpp-Q4_0", 16))),
    Goal("int8 b16 / OpenVINO int8", 1.4, 2, ratio(decode("ours", "int8", 16), decode("peers", "openvino-int8", 16))),
    Goal("bf16 b16 / vLLM bf16", 1.7, 2, ratio(decode("ours", "bfloat16", 16), decode("peers", "vllm-bfloat16", 16))),
    Goal("ours b1 / transformers", 8, 10, ratio(any_of("ours", 1), any_of("peers", 1))),
    Goal("ours b16 / transformers", 8, 10, ratio(any_of("ours", 16), any_of("peers", 16))),
    Goal("torch path b1 / transformers", 4, 5, ratio(any_of("torch", 1), any_of("peers", 1))),
    Goal("int8 prefill / llama.cpp Q8_0", 2, 4, ratio(prefill("ours", "int8"), prefill("peers", "llamacpp-Q8_0"))),
    Goal("int8 prefill / OpenVINO", 0.9, 1.5, ratio(prefill("ours", "int8"), prefill("peers", "openvino-int8"))),
    *(Goal(f"{p} b1, share of bandwidth", *SHARES[p], share(p)) for p in PRECISIONS),
    Goal("speculation: edit", 2.3, 3, speedup("edit")),
    Goal("speculation: summarise", 1.7, 2.1, speedup("summarise")),
    Goal("speculation: chat", 1.15, 1.3, speedup("chat")),
    Goal("speculation: worst batch", 0.98, 1, least("speculation", "batches")),
    *(Goal(f"{p}: MB beyond weights and KV", 300, 250, beyond(p), less_is_better=True) for p in PRECISIONS),
    *(Goal(f"{p}: seconds to ready", 3, 1.5, seconds_to_load(p), less_is_better=True) for p in PRECISIONS),
)


def verdicts(results: Tree) -> Tree:
    """Of the goals that were measured, by name: value, gate, aim and verdict."""
    found: Tree = {}
    for goal in GOALS:
        if (value := goal.value(results)) is not None:
            found[goal.name] = {"value": value, "gate": goal.gate, "aim": goal.aim, "verdict": goal.verdict(value)}
    return found
