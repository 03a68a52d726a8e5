"""How others choose, by their published rules and defaults. Each believes that a replica still has all it was sent."""

import random
from bisect import bisect
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from itertools import count

from loadtests.affinity.fleet import Choosing, Fleet
from loadtests.affinity.replica import Job
from loadtests.affinity.traces import BLOCK_TOKENS, Arrival

SEED = 7


class Blind:
    """Choosing without a look at what replicas hold."""

    def __init__(self, pick: Callable[[Arrival], str]) -> None:
        self._pick = pick

    def choose(self, arrival: Arrival) -> tuple[str, int]:
        return self._pick(arrival), arrival.prompt_tokens

    def answered(self, job: Job) -> None: ...

    def ended(self, job: Job) -> None: ...

    def lost(self, replica: str) -> None: ...


def at_random(fleet: Fleet) -> Blind:
    draw = random.Random(SEED)
    return Blind(lambda _: draw.choice(fleet.names))


def round_robin(fleet: Fleet) -> Blind:
    turn = count()
    return Blind(lambda _: fleet.names[next(turn) % len(fleet.names)])


def least_load(fleet: Fleet) -> Blind:
    """The fewest requests that are not finished."""
    return Blind(lambda _: fleet.least_loaded())


def least_queued_tokens(fleet: Fleet) -> Blind:
    """The fewest prompt tokens that wait, then the fewest requests."""
    return Blind(
        lambda _: min(fleet.names, key=lambda name: (fleet.loads[name].queued_tokens, fleet.loads[name].running))
    )


def power_of_two(fleet: Fleet) -> Blind:
    draw = random.Random(SEED)
    return Blind(lambda _: min(draw.sample(fleet.names, 2), key=lambda name: fleet.loads[name].running))


POINTS = 160
"""Of each replica on the ring."""


def consistent_hash(fleet: Fleet) -> Blind:
    """The first two blocks on a ring: the first is one system prompt in many a trace."""
    ring = sorted((_point(f"{name}:{i}"), name) for name in fleet.names for i in range(POINTS))
    points = [point for point, _ in ring]
    return Blind(lambda arrival: ring[bisect(points, _point(str(arrival.blocks[:2]))) % len(ring)][1])


def _point(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


class Sent:
    """Blocks by the replicas that they were sent to; never forgotten while the replica is there."""

    def __init__(self, names: Sequence[str]) -> None:
        self._sent: dict[str, set[int]] = {name: set() for name in names}

    def tokens(self, arrival: Arrival) -> Mapping[str, int]:
        return {name: self._depth(arrival, blocks) * BLOCK_TOKENS for name, blocks in self._sent.items()}

    def sizes(self) -> Mapping[str, int]:
        return {name: len(blocks) for name, blocks in self._sent.items()}

    def add(self, name: str, arrival: Arrival) -> None:
        self._sent[name].update(arrival.blocks)

    def drop(self, name: str) -> None:
        self._sent[name].clear()

    @staticmethod
    def _depth(arrival: Arrival, blocks: set[int]) -> int:
        return next((i for i, block in enumerate(arrival.blocks) if block not in blocks), len(arrival.blocks))


class LongestMatch:
    """Whoever was sent the longest beginning of this prompt, however busy; nobody was: the fewest requests."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._sent = Sent(fleet.names)

    def choose(self, arrival: Arrival) -> tuple[str, int]:
        held = self._sent.tokens(arrival)
        name = self._best(arrival, held)
        self._sent.add(name, arrival)
        return name, max(0, arrival.prompt_tokens - held[name])

    def _best(self, arrival: Arrival, held: Mapping[str, int]) -> str:
        return max(self._fleet.names, key=lambda name: (held[name], -self._fleet.loads[name].running))

    def answered(self, job: Job) -> None: ...

    def ended(self, job: Job) -> None: ...

    def lost(self, replica: str) -> None:
        self._sent.drop(replica)


class ThresholdSwitch(LongestMatch):
    """Two modes: while requests are even, the longest match if it is more than SHARE of the prompt, else the smallest
    tree; while they are not, the fewest requests. The rule of several routers, with the defaults of one launcher."""

    SHARE, ABSOLUTE, RELATIVE = 0.3, 64, 1.5

    def _best(self, arrival: Arrival, held: Mapping[str, int]) -> str:
        requests = [self._fleet.loads[name].running for name in self._fleet.names]
        if max(requests) - min(requests) > self.ABSOLUTE and max(requests) > self.RELATIVE * min(requests):
            return self._fleet.least_loaded()
        longest = max(self._fleet.names, key=lambda name: held[name])
        if held[longest] > self.SHARE * arrival.prompt_tokens:
            return longest
        sizes = self._sent.sizes()
        return min(self._fleet.names, key=lambda name: sizes[name])


RIVALS: Mapping[str, Choosing] = {
    "random": at_random,
    "round robin": round_robin,
    "least load": least_load,
    "least queued tokens": least_queued_tokens,
    "power of two": power_of_two,
    "consistent hash": consistent_hash,
    "longest match": LongestMatch,
    "threshold switch": ThresholdSwitch,
}
