"""A judge among the rungs of a shadow: what the file may say of it, and what its word is worth."""

import itertools
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.experiments.simulate import at_least
from policies.estimates import Calibration
from policies.language.load import load_policy
from policies.shadows.judged import IN_PERCENT, Choice, Judged, counted, preference_within, preferred
from policies.shadows.plan import Judge
from policies.shadows.verdict import judgement

TEXT = """policy: 1
models:
  small: {at: "http://a/v1", can: [tools]}
  large: {at: "http://b/v1", price: {input: $1/M, output: $2/M}, fits: {output: 8k}}
  medium: {at: "http://c/v1", price: {input: $1/M, output: $2/M}, can: [json_schema]}
routes: [{name: chat, use: large}]
shadows:
  - name: could
    of: chat
    to: small
    sample: 2%
    limits: {cost: $1/day}
    compare: [exact, {judge: medium, both_orders: true, of: 20%}]
"""

CHOICES: tuple[Choice, ...] = get_args(Choice)


def load(text):
    return load_policy(text, name="p.yaml", calibrate=lambda _: Calibration(p_good={}))


def test_a_judge_stands_among_the_rungs_and_is_none_of_them():
    loaded = load(TEXT)
    assert loaded.policy is not None, loaded.problems
    (shadow,) = loaded.policy.shadows

    assert (shadow.compare, shadow.judge) == (("exact",), Judge("medium", 0.2))
    alone = load(TEXT.replace("[exact, {judge: medium, both_orders: true, of: 20%}]", "[{judge: medium}]"))
    assert alone.policy is not None, alone.problems
    assert (alone.policy.shadows[0].compare, alone.policy.shadows[0].judge) == ((), Judge("medium", 0.1))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("judge: medium", "judge: medum", 'names the judge medum, which is no model here; did you mean "medium"?'),
        ("judge: medium", "judge: small", "has small judge its own answers"),
        ("of: chat", "of: [chat, medium]", "has medium judge its own answers"),
        ("can: [json_schema]", "can: [tools]", "which must be able to write json_schema"),
        ("limits: {cost: $1/day}", "limits: {queue: 4}", "needs limits: {cost: $5/day} or another amount: medium has"),
        ("both_orders: true", "both_orders: false", "both_orders should be true"),
        ("of: 20%", "of: 20", "unit"),
        ("[exact, ", "[exact, {judge: medium, of: 5%}, ", "has two judges"),
        ("[exact, ", "[exat, ", 'did you mean "exact"?'),
        ("judge: medium, both", "judge: medium, whom: x, both", "whom"),
    ],
)
def test_a_mistake_is_told(old, new, words):
    assert old in TEXT
    told = [problem.message for problem in load(TEXT.replace(old, new, 1)).problems]

    assert any(words in message for message in told), told


def test_a_judge_needs_no_bound_of_its_output_for_its_question_has_one():
    assert "fits" not in TEXT.split("medium:")[1].split("\n", maxsplit=1)[0]
    assert load(TEXT).policy is not None


@pytest.mark.parametrize("taste", CHOICES)
def test_a_judge_that_goes_by_the_place_says_nothing(taste):
    """First, second or whatever it always says, but for alike, which is the same from both sides."""
    assert preferred(taste, taste) == ("equal" if taste == "equal" else "split")


def test_exchanging_the_two_models_exchanges_what_is_said():
    swapped = {"primary": "shadow", "shadow": "primary"}
    for forwards, backwards in itertools.product(CHOICES, CHOICES):
        found = preferred(forwards, backwards)
        assert preferred(backwards, forwards) == swapped.get(found, found)


@given(st.lists(st.sampled_from(("primary", "shadow", "equal", "split", None)), max_size=60))
def test_every_pair_counts_once_and_what_fails_counts_apart(said):
    judged = Judged()
    for one in said:
        judged = counted(judged, one)

    assert judged.pairs + judged.failed == len(said)
    low, high = preference_within(judged, 0.05)
    mean = sum(IN_PERCENT[one] for one in said if one) / 100
    assert low <= (mean / judged.pairs if judged.pairs else 0.0) <= high


@pytest.mark.parametrize("first", [0.1, 0.8])
def test_two_models_that_are_alike_are_told_apart_no_more_often_than_they_may_at_every_look(first):
    """A judge that likes the first place more or less, and makes up its mind anew each time."""
    import random

    alpha, runs, wrong = 0.05, 60, 0
    for seed in range(runs):
        draws, judged, told = random.Random(seed), Judged(), False
        for number in range(100):
            said = [draws.choices(CHOICES, (first, 0.9 - first, 0.1))[0] for _ in range(2)]
            judged = counted(judged, preferred(said[0], said[1]))
            if number % 25 == 24:
                low, high = preference_within(judged, alpha)
                told = told or low > 0 or high < 0
        wrong += told

    assert at_least(wrong, runs) <= alpha


def test_what_a_judge_says_is_told_with_its_noise():
    found = judgement(Judged(primary=40, shadow=4, equal=30, split=26, failed=2), "medium", "small")

    assert found.says == "worse"
    assert found.words.startswith(
        "medium prefers the answer in 40 of 100 pairs, small in 4, finds 30 alike, and goes by the"
    )
    assert "(noise 26 %)" in found.words
    assert judgement(Judged(shadow=40, split=5), "m", "s").says == "better"
    assert judgement(Judged(primary=3, shadow=2), "m", "s").says == "not_shown"
    assert judgement(Judged(failed=3), "m", "s").words == "m has judged nothing yet (3 times it did not answer)"
