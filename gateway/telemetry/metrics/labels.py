"""Which values labels may have: names of policies, the first replicas that were asked, closed sets. All else is `other`."""

import re
from collections.abc import Collection, Iterable
from typing import get_args

from gateway.telemetry import words
from gateway.telemetry.metrics.metric import Label, OfPolicy

PLACE = re.compile(r"[\w.:\[\]-]{1,200}")

MAX_NAMES = 100
"""Models, and routes, that get labels of their own; the others count as `other`."""

MAX_REPLICAS = 200
"""Replicas that get labels of their own, in the order in which they were first asked; the others count as `other`."""


class Labels:
    """Names of earlier policies stay known, so counters never run backwards."""

    def __init__(self) -> None:
        self._known: dict[str, set[str]] = {kind: set() for kind in get_args(OfPolicy)}
        self._known["routes"].add(words.NONE)
        self._known["models"].add(words.NONE)

    def learn(self, kind: str, fresh: Iterable[str]) -> None:
        """Names of a policy that came into force."""
        known = self._known[kind]
        room = MAX_NAMES - len(known)
        known.update([name for name in fresh if name not in known][:room])

    def name(self, kind: str, name: str) -> str:
        return name if name in self._known[kind] else words.OTHER

    def replica(self, name: str) -> str:
        """Host and port of its address, which say enough."""
        known, shown = self._known["replicas"], place_of(name)
        if len(known) < MAX_REPLICAS:
            known.add(shown)
        return shown if shown in known else words.OTHER

    def values(self, label: Label) -> Collection[str]:
        return self._known[label.of_policy] if label.of_policy else label.values


def place_of(replica: str) -> str:
    """
    >>> place_of("http://10.0.0.1:8000/v1"), place_of("in-process:small"), place_of("http://user:word@h/v1")
    ('10.0.0.1:8000', 'in-process:small', 'other')
    """
    place = replica.partition("//")[2].partition("/")[0] if "//" in replica else replica
    return place if PLACE.fullmatch(place) else words.OTHER
