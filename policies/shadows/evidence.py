"""What pairs of answers have shown so far, rung by rung: how the shadow differs, how the primary differs from itself, and the
excess of the one over the other in requests of which both are known."""

from collections.abc import Mapping

import msgspec


class Rung(msgspec.Struct, frozen=True, kw_only=True):
    """How often each difference came, in percent. `excess` is paired: of one request, shadow less floor."""

    shadow: Mapping[int, int] = {}
    floor: Mapping[int, int] = {}
    excess: Mapping[int, int] = {}


Evidence = Mapping[str, Rung]
"""By the name of the rung."""


def learnt(evidence: Evidence, shadow: Mapping[str, int], floor: Mapping[str, int]) -> Evidence:
    """With one more pair. `floor` is empty where the primary was not asked twice.

    >>> learnt({}, {"exact": 100}, {"exact": 0})["exact"].excess
    {100: 1}
    """
    return {**evidence, **{name: with_one(evidence.get(name, Rung()), name, shadow, floor) for name in shadow}}


def with_one(rung: Rung, name: str, shadow: Mapping[str, int], floor: Mapping[str, int]) -> Rung:
    more = msgspec.structs.replace(rung, shadow=counted(rung.shadow, shadow[name]))
    if name not in floor:
        return more
    return msgspec.structs.replace(
        more, floor=counted(rung.floor, floor[name]), excess=counted(rung.excess, shadow[name] - floor[name])
    )


def counted(counts: Mapping[int, int], value: int) -> dict[int, int]:
    return {**counts, value: counts.get(value, 0) + 1}
