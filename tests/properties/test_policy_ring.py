"""Laws of the ring and of bounded load."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from policies.affinity.ring import overloaded, owner

FLEET = st.lists(st.text(min_size=1, max_size=5), unique=True, min_size=2, max_size=6)
KEYS = [f"key-{i}" for i in range(60)]
LOADS = st.lists(st.integers(0, 12).map(float), min_size=1, max_size=8)


@settings(deadline=None)
@given(FLEET, st.data())
def test_a_replica_that_goes_moves_its_own_keys_only(fleet: list[str], data: st.DataObject) -> None:
    gone = data.draw(st.sampled_from(fleet))
    left = [replica for replica in fleet if replica != gone]
    moved = [key for key in KEYS if owner(key, fleet) != owner(key, left)]
    assert all(owner(key, fleet) == gone for key in moved)


@settings(deadline=None)
@given(FLEET, st.text(min_size=6, max_size=8))
def test_a_replica_that_comes_takes_only_what_it_then_owns(fleet: list[str], new: str) -> None:
    moved = [key for key in KEYS if owner(key, fleet) != owner(key, [*fleet, new])]
    assert all(owner(key, [*fleet, new]) == new for key in moved)


@settings(deadline=None)
@given(FLEET)
def test_the_order_of_the_fleet_does_not_matter(fleet: list[str]) -> None:
    assert [owner(key, fleet) for key in KEYS] == [owner(key, fleet[::-1]) for key in KEYS]


def test_keys_spread_evenly() -> None:
    fleet = ["a", "b", "c", "d"]
    counts = [sum(owner(str(key), fleet) == replica for key in range(4000)) for replica in fleet]
    assert all(900 < count < 1100 for count in counts)


@settings(deadline=None)
@given(LOADS, st.floats(1, 5), st.floats(0, 20))
def test_the_least_loaded_is_never_passed_over(loads: list[float], imbalance: float, spill: float) -> None:
    over = overloaded(loads, imbalance, spill)
    assert len(over) == len(loads)
    assert not over[loads.index(min(loads))]


@settings(deadline=None)
@given(LOADS, st.floats(1, 5), st.floats(0, 20))
def test_who_is_passed_over_stands_above_both_bounds(loads: list[float], imbalance: float, spill: float) -> None:
    least = min(loads)
    for here, (work, is_over) in enumerate(zip(loads, overloaded(loads, imbalance, spill), strict=True)):
        others = [*loads[:here], *loads[here + 1 :]]
        mean = sum(others) / len(others) if others else 0.0
        assert is_over == (work > imbalance * mean + 3 * mean**0.5 and work > least + spill)


def test_counts_that_differ_by_chance_pass_nobody_over() -> None:
    draw = random.Random(7)
    found = [
        is_over
        for _ in range(500)
        for is_over in overloaded([sum(draw.random() < 0.02 for _ in range(1000)) for _ in range(8)], 1.1, 4)
    ]
    assert sum(found) / len(found) < 0.005
