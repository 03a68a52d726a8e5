"""Logs whose truth is known: a world of easy and hard requests, a policy that explores, and another one to be judged."""

import random
from collections.abc import Callable
from typing import NamedTuple

from policies.offpolicy.sample import Sample

Chance = Callable[[float], float]


class World(NamedTuple):
    """Difficulty is even over 0 to 1. `small` and `large` are the chances of a good answer by it; the log's policy goes to
    large above `logged`, the other one above `other`; `explore` is drawn evenly from both."""

    small: Chance
    large: Chance
    logged: float
    other: float
    explore: float

    def truth(self, line: float | None = None) -> float:
        """The mean reward of the other policy, or of one that parts at `line`."""
        at = self.other if line is None else line
        steps = [(i + 0.5) / 20_000 for i in range(20_000)]
        return sum([self.large(x) if x > at else self.small(x) for x in steps]) / len(steps)

    def value_logged(self) -> float:
        even = (self.truth(-1.0) + self.truth(2.0)) / 2
        return self.explore * even + (1 - self.explore) * self.truth(self.logged)


def falling(start: float, by: float) -> Chance:
    return lambda x: start - by * x


NEAR = World(falling(0.95, 0.6), falling(0.97, 0.1), 0.6, 0.3, 0.1)
ALL_LARGE = NEAR._replace(other=-1.0)
ALL_SMALL = NEAR._replace(other=2.0)
HARD = World(falling(0.5, 0.4), falling(0.8, 0.4), 0.6, 0.3, 0.1)
FINE = World(lambda _: 0.985, lambda _: 0.995, 0.6, 0.3, 0.1)


def predicted(world: World, model: str, x: float, error: float) -> float:
    """What a model says of the chance, off by `error` at its ends."""
    return (world.large(x) if model == "large" else world.small(x)) + error * (x - 0.5)


def log_of(
    world: World, count: int, dice: random.Random, *, error: float | None = None, turns: int = 1
) -> list[Sample]:
    """`count` conversations of `turns` turns, each conversation with one draw. Without `error` nothing is predicted."""
    samples = []
    for unit in range(count):
        x = dice.random()
        greedy, wanted = ("large" if x > at else "small" for at in (world.logged, world.other))
        chance = {model: world.explore / 2 + (1 - world.explore) * (model == greedy) for model in ("small", "large")}
        done = "small" if dice.random() < chance["small"] else "large"
        good = world.large(x) if done == "large" else world.small(x)
        reward = float(dice.random() < good)
        for _ in range(turns):
            says = (
                (0.0, 0.0) if error is None else (predicted(world, done, x, error), predicted(world, wanted, x, error))
            )
            samples.append(
                Sample(
                    unit=float(unit),
                    reward=reward,
                    logged=chance[done],
                    target=float(done == wanted),
                    predicted=says[0],
                    expected=says[1],
                )
            )
    return samples
