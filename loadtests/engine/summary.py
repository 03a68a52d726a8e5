"""Rounds into one result: medians, and beside them the least and the most, so that outliers stay visible."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median

from loadtests.engine.contenders import Tree

Numbers = Sequence[float]


def merged(rounds: Sequence[Mapping[str, object]], choose: Callable[[Numbers], object]) -> Tree:
    """The same tree with `choose` of each number's rounds; of yes and no, yes if every round said so.

    >>> merged([{"a": {"b": 1}}, {"a": {"b": 3}}, {"a": {"b": 2}}], spread)
    {'a': {'b': [1, 3]}}
    """
    return {key: _leaf([each[key] for each in rounds], choose) for key in rounds[0]}


def _leaf(values: Sequence[object], choose: Callable[[Numbers], object]) -> object:
    first = values[0]
    if isinstance(first, Mapping):
        return merged([value for value in values if isinstance(value, Mapping)], choose)
    if isinstance(first, bool):
        return all(values)
    return choose([value for value in values if isinstance(value, int | float)])


def medians(rounds: Sequence[Mapping[str, object]]) -> Tree:
    return merged(rounds, median)


def spread(values: Numbers) -> list[float]:
    return [min(values), max(values)]


def branch(tree: object, path: Iterable[str]) -> Mapping[str, object]:
    """What stands at a path of keys; empty when nothing does."""
    for key in path:
        tree = tree.get(key) if isinstance(tree, Mapping) else None
    return tree if isinstance(tree, Mapping) else {}


def at(tree: object, path: Sequence[str]) -> float | None:
    """The number at a path of keys, None when it is not there.

    >>> at({"ours": {"int8": {"decode_tps": {"1": 200.0}}}}, ("ours", "int8", "decode_tps", "1"))
    200.0
    """
    value = branch(tree, path[:-1]).get(path[-1])
    return float(value) if isinstance(value, int | float) else None
