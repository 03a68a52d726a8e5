"""Prometheus' text format, as far as a load needs it: the samples of a few names. No clock and no socket.

https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
"""

import re
from collections.abc import Collection, Iterator, Mapping
from math import isfinite

import msgspec

_SAMPLE = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?\s*")
_LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\(.)")


class Sample(msgspec.Struct, frozen=True):
    """`name` with its colons as underlines: servers have changed from one to the other."""

    name: str
    labels: Mapping[str, str]
    value: float


def samples(page: str, names: Collection[str]) -> Iterator[Sample]:
    """Those of `names` (written with underlines); comments, other names, and lines that are no samples are passed over.

    >>> [found] = samples('# TYPE a:b gauge\\na:b{m="x\\\\"y"} 2 1700000000\\nc 1\\n', ["a_b"])
    >>> found.name, found.labels, found.value
    ('a_b', {'m': 'x"y'}, 2.0)
    """
    for line in page.splitlines():
        found = _SAMPLE.fullmatch(line)
        if found is None or (name := found[1].replace(":", "_")) not in names:
            continue
        try:
            value = float(found[3])
        except ValueError:
            continue
        if isfinite(value):
            labels = {key: _ESCAPE.sub(_unescaped, text) for key, text in _LABEL.findall(found[2] or "")}
            yield Sample(name, labels, value)


def _unescaped(found: "re.Match[str]") -> str:
    return "\n" if found[1] == "n" else found[1]
