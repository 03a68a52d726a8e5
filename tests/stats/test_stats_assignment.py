"""Who gets which variant: shares are as declared, nobody moves who need not, layers are exclusive."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from policies.experiments.assign import assign, draw, rendezvous, variant_of
from policies.experiments.plan import Experiment, Variant

UNITS = [f"unit-{i}" for i in range(2_000)]


def experiment(name="test", *, layer="chat", salt="1", starts=0.0, ends=1.0, weights=(50.0, 50.0)):
    variants = tuple(Variant(f"v{i}", weight) for i, weight in enumerate(weights))
    return Experiment(
        name=name, unit="user", layer=layer, salt=salt, variants=variants, routes=frozenset(), starts=starts, ends=ends
    )


def counted(found):
    names, counts = np.unique(found, return_counts=True)
    return dict(zip(map(str, names), map(int, counts), strict=True))


def moved_and_least(before, after):
    """Units that moved, and the fewest that had to, given how many each variant had and has."""
    old, new = counted(before), counted(after)
    least = sum(max(0, count - new.get(name, 0)) for name, count in old.items())
    return sum(a != b for a, b in zip(before, after, strict=True)), least


def random_change(random):
    """Weights of two to five variants, and other weights, with variants added or taken away."""
    names = [f"v{i}" for i in range(6)]
    old = {name: float(w) for name, w in zip(names, random.dirichlet(np.ones(random.integers(2, 6))), strict=False)}
    kept = [name for name in old if random.random() < 0.85] or list(old)[:1]
    fresh = [name for name in names if name not in old and random.random() < 0.3]
    return old, {name: float(w) for name, w in zip([*kept, *fresh], random.dirichlet(np.ones(6)), strict=False)}


def test_two_hundred_random_changes_move_no_more_units_than_they_must():
    random = np.random.default_rng(11)
    for number in range(200):
        old, new = random_change(random)
        before = [variant_of((old,), str(number), unit) for unit in UNITS[:250]]
        after = [variant_of((old, new), str(number), unit) for unit in UNITS[:250]]

        moved, least = moved_and_least(before, after)
        assert moved == least


def test_without_a_history_a_change_of_one_variant_moves_no_more_than_it_must():
    """One weight other, or one variant more or less: the rest keep what they have."""
    random = np.random.default_rng(12)
    for number in range(40):
        old = {f"v{i}": float(w) for i, w in enumerate(random.dirichlet(np.ones(4)))}
        one = dict(old)
        one["v9" if number % 3 == 0 else "v1"] = float(random.random())
        new = {name: w for name, w in one.items() if number % 3 != 1 or name != "v2"} if number % 3 == 1 else one
        if number % 3 == 1:
            new["v1"] = old["v1"]
        before = [rendezvous(old, str(number), unit) for unit in UNITS[:500]]
        after = [rendezvous(new, str(number), unit) for unit in UNITS[:500]]

        moved, least = moved_and_least(before, after)
        assert moved == least


@pytest.mark.parametrize(
    ("history", "weights"),
    [
        (({"a": 50.0, "b": 50.0},), {"a": 0.5, "b": 0.5}),
        (({"a": 90.0, "b": 5.0, "c": 5.0}, {"a": 80.0, "b": 10.0, "c": 10.0}), {"a": 0.8, "b": 0.1, "c": 0.1}),
        (({"a": 1.0}, {"a": 1.0, "b": 3.0}, {"b": 1.0, "c": 1.0}), {"b": 0.5, "c": 0.5}),
    ],
)
def test_shares_are_as_the_last_weights_say(history, weights):
    seen = counted([variant_of(history, "salt", f"u{i}") for i in range(20_000)])

    expected = [weights[name] * 20_000 for name in weights]
    assert stats.chisquare([seen[name] for name in weights], expected).pvalue > 1e-4


@given(st.text(max_size=40), st.text(max_size=20))
def test_a_unit_has_one_variant_for_ever_and_it_has_a_weight(unit, salt):
    weights = {"a": 1.0, "b": 0.0, "c": 2.0}

    assert rendezvous(weights, salt, unit) == rendezvous(dict(reversed(weights.items())), salt, unit) != "b"


def test_draws_are_uniform_and_salts_are_independent():
    one, other = ([draw(salt, unit) for unit in UNITS] for salt in ("a", "b"))

    assert stats.kstest(one, "uniform").pvalue > 1e-4
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.08


def test_experiments_of_a_layer_never_share_a_unit_and_take_their_parts():
    first, second = experiment("first", ends=0.2), experiment("second", starts=0.2, ends=0.5)

    got = [(assign(first, unit), assign(second, unit)) for unit in UNITS]

    assert not any(one and other for one, other in got)
    assert sum(one is not None for one, _ in got) / len(UNITS) == pytest.approx(0.2, abs=0.04)
    assert sum(other is not None for _, other in got) / len(UNITS) == pytest.approx(0.3, abs=0.04)


def test_a_larger_part_keeps_all_who_were_in_the_smaller_one_with_their_variants():
    small, large = experiment(ends=0.1), experiment(ends=0.6)

    for unit in UNITS:
        found = assign(small, unit)
        assert found is None or found == assign(large, unit)


def test_experiments_of_two_layers_are_independent():
    one, other = experiment("one", layer="a", ends=0.5), experiment("other", layer="b", ends=0.5)

    table = np.zeros((3, 3))
    for unit in UNITS:
        a, b = assign(one, unit), assign(other, unit)
        table[0 if a is None else 1 + (a.variant == "v1"), 0 if b is None else 1 + (b.variant == "v1")] += 1

    assert stats.chi2_contingency(table).pvalue > 1e-4


def test_an_assignment_says_the_chance_that_it_had():
    found = assign(experiment(weights=(90.0, 10.0)), "unit-1")

    assert found is not None
    assert found.propensity == {"v0": 0.9, "v1": 0.1}[found.variant]
