"""Worlds in which two variants do not differ, and one in which they do: outcomes of many runs, one request after another."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gateway.experiments.crowd import Bools, Floats

RAMP = ((0.0, 0.05), (0.25, 0.1), (0.5, 0.25), (0.75, 0.5))
"""From this part of a run on, the treatment's chance."""

DRIFT = 0.5
"""How far, of what is possible, outcomes move there and back in a run."""

SIGMA = 1.5
QUANTILE = 0.95


@dataclass(frozen=True, slots=True)
class World:
    """`kind` is what is measured; `rate` of events, where it is events."""

    kind: str
    rate: float = 0.0
    drift: bool = False
    ramp: bool = False

    @property
    def name(self) -> str:
        told = f"{self.kind} {self.rate:g}" if self.kind == "bernoulli" else self.kind
        return told + (", drift" if self.drift else "") + (", ramp" if self.ramp else "")


def worlds() -> Iterator[World]:
    """Six distributions, each with and without drift and ramp."""
    kinds = [("bernoulli", rate) for rate in (0.5, 0.9, 0.98, 0.998)]
    for kind, rate in (*kinds, ("lognormal", 0.0), ("ratio", 0.0)):
        for drift in (False, True):
            for ramp in (False, True):
                yield World(kind, rate, drift, ramp)


def chance_at(world: World, part: float) -> float:
    """Of the treatment, after this part of the run.

    >>> chance_at(World("ratio", ramp=True), 0.6), chance_at(World("ratio"), 0.6)
    (0.25, 0.5)
    """
    return [chance for begins, chance in RAMP if begins <= part][-1] if world.ramp else 0.5


def level_at(world: World, part: float) -> float:
    """0 without drift; with it from 0 to 1 and half the way back."""
    return math.sin(math.pi * 0.75 * part) if world.drift else 0.0


def rate_at(world: World, part: float) -> float:
    """The event's rate: drift takes it towards one half, or from there upwards."""
    towards = 0.5 if world.rate > 0.6 else 0.9
    return world.rate + (towards - world.rate) * DRIFT * level_at(world, part)


def events(world: World, part: float, runs: int, random: np.random.Generator) -> Bools:
    return np.asarray(random.random(runs) < rate_at(world, part), dtype=bool)


def amounts(world: World, part: float, runs: int, random: np.random.Generator) -> Floats:
    return np.asarray(random.lognormal(2 * DRIFT * level_at(world, part), SIGMA, runs), dtype=np.float64)


def pairs(world: World, part: float, runs: int, random: np.random.Generator) -> tuple[Floats, Floats]:
    """An amount for each occasion; half of the requests have none."""
    bottoms = np.asarray(random.poisson(0.7, runs), dtype=np.float64)
    return amounts(world, part, runs, random) / 3 * bottoms, bottoms


def assigned(random: np.random.Generator, runs: int, chance: float) -> Bools:
    return np.asarray(random.random(runs) < chance, dtype=bool)
