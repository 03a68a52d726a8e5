"""`resilience: {hedge: ...}`: what is compiled, what is refused, who is asked besides, and how often."""

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.allowance import MOST, Allowance
from policies.decide import decide
from policies.decision import Call, Hedge
from policies.estimates import Estimate
from policies.explain import raced
from policies.facts import Facts
from policies.hedging.plan import Hedging
from policies.hedging.ttfts import KEPT, Ttfts, Waits
from policies.language.load import load_policy
from policies.snapshot import ReplicaState, Snapshot

FILE = """policy: 1
models:
  m: {at: ["http://a/v1", "http://b/v1", "http://c/v1"]}
  one: {at: "http://d/v1"}
routes: [{name: r, use: m, fallback: [one]}]
resilience: {hedge: {after: 800ms, budget: 5%, cancel: loser, unless: {load: {over: 70%}}}}
"""
UNKNOWN = Estimate(abstains="no route asks for difficulty")
STREAMED = Facts(stream=True, prompt_tokens=100)


def load(text=FILE):
    return load_policy(text, name="p", calibrate=lambda _: None)


def decided(facts=STREAMED, text=FILE, states=("a", "b", "c"), ttfts=None, **told):
    policy = load(text).policy
    found = tuple(ReplicaState(replica=f"http://{name}/v1", **told.get(name, {})) for name in states)
    replicas = {"m": found, "one": (ReplicaState(replica="http://d/v1"),)}
    return decide(policy, facts, UNKNOWN, Snapshot(replicas=replicas, ttfts=ttfts or {}))


def test_a_hedge_of_the_file_is_what_is_raced_by():
    assert load().policy.resilience.hedge == Hedging(after_s=0.8, budget=0.05, busy_over=0.7)
    late = load(FILE.replace("800ms", "p95 of ttft").replace(", unless: {load: {over: 70%}}", ""))
    assert late.policy.resilience.hedge == Hedging(percentile=95, budget=0.05)
    assert load(FILE.partition("resilience")[0]).policy.resilience.hedge is None, (
        "nobody is raced unless the file says so"
    )


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("800ms", "800", "6:29 resilience.hedge.after needs a unit: 800ms, 800s"),
        (
            "800ms",
            "p95",
            "6:29 resilience.hedge.after should be a length of time, such as 800ms, or a percentile, such as",
        ),
        (
            "800ms",
            "p10 of ttft",
            "6:29 resilience.hedge.after should be a percentile of at least 50: what is usual is not late",
        ),
        (
            "800ms",
            "2m",
            "6:29 resilience.hedge.after is not before first_content (120 s), after which the attempt is given up",
        ),
        ("budget: 5%", "budget: 5", "6:44 resilience.hedge.budget needs a unit: 5%"),
        ("cancel: loser", "cancel: winner", "6:56 resilience.hedge.cancel should be loser"),
        ("after: 800ms, ", "", '6:14 resilience.hedge needs the key "after"'),
        (
            ', "http://b/v1", "http://c/v1"]',
            "]",
            "6:14 resilience.hedge has no use: no model has more than one replica",
        ),
        ("over: 70%", "ovr: 70%", '6:79 resilience.hedge.unless.load.ovr is not a key here; did you mean "over"?'),
    ],
)
def test_a_hedge_that_makes_no_sense_is_told_where_and_why(old, new, problem):
    loaded = load(FILE.replace(old, new, 1))

    found = [f"{one.line}:{one.column} {one.message}" for one in loaded.problems]
    assert any(line.startswith(problem) for line in found), found


def test_other_replicas_of_the_model_are_asked_in_their_order_and_nobody_else():
    decision = decided(b={"queued_tokens": 900})

    first, best, busiest = decision.steps[:3]
    assert {first.model, best.model, busiest.model} == {"m"}
    assert busiest == Call("m", "http://b/v1")
    assert decision.hedge == Hedge((best, busiest), 0.8)
    assert decision.unhedged == ""
    assert raced(decision) == f"after 0.8 s of silence {best.replica} is asked as well"


@pytest.mark.parametrize(
    ("facts", "told", "why"),
    [
        (Facts(), {}, "an answer that leaves in one piece is not raced"),
        (STREAMED, {"states": ("a",)}, ""),
        (Facts(stream=True, requested="one"), {}, "no other replica of it may answer"),
        (STREAMED, {name: {"queued_tokens": 9} for name in "abc"}, "100% of its replicas are busy"),
        (
            STREAMED,
            {"a": {"queued_tokens": 9}, "b": {"queued_tokens": 9}, "c": {"rests": "failed"}},
            "100% of its replicas are busy",
        ),
        (
            STREAMED,
            {"text": FILE.replace("800ms", "p95 of ttft")},
            "p95 of ttft is not known yet for prompts of this length",
        ),
    ],
)
def test_why_nobody_is_asked_as_well(facts, told, why):
    decision = decided(facts, **told)

    assert decision.unhedged == why
    assert (decision.hedge is None) == bool(why)


def test_two_of_three_that_are_busy_are_few_enough():
    assert decided(a={"queued_tokens": 9}, b={"queued_tokens": 9}).hedge is not None


def test_late_is_what_the_snapshot_says():
    text = FILE.replace("800ms", "p95 of ttft")

    assert decided(text=text, ttfts={"m": 1.23456}).hedge.after_s == 1.235


def test_a_policy_without_hedges_says_nothing_of_them():
    decision = decided(text=FILE.partition("resilience")[0])

    assert (decision.hedge, decision.unhedged, raced(decision)) == (None, "", "")


@given(st.lists(st.booleans(), max_size=300), st.floats(0.001, 0.999))
def test_hedges_are_never_more_than_their_share_of_the_requests(late, budget):
    allowance, took = Allowance(), 0
    for n, is_late in enumerate(late, start=1):
        allowance.came(budget)
        took += is_late and allowance.take()
        assert took <= budget * n + 1e-6


@given(st.lists(st.booleans(), max_size=300), st.floats(0.001, 0.999))
def test_retries_are_never_more_than_their_share_and_what_was_saved_up(failed, budget):
    allowance, took = Allowance(MOST), 0
    for n, is_failed in enumerate(failed, start=1):
        allowance.came(budget)
        took += is_failed and allowance.take()
        assert took <= MOST + budget * n + 1e-6


def test_a_budget_of_retries_is_read_and_off_unless_stated():
    assert load(FILE.replace("{hedge:", "{retry: {budget: 20%}, hedge:")).policy.resilience.retry_budget == 0.2
    assert load().policy.resilience.retry_budget is None
    (problem,) = load(FILE.replace("{hedge:", "{retry: {budget: 20}, hedge:")).problems
    assert problem.message == "resilience.retry.budget needs a unit: 20%"


def test_no_more_than_a_few_are_saved_up():
    allowance = Allowance()
    for _ in range(10_000):
        allowance.came(0.02)

    assert sum(allowance.take() for _ in range(100)) == MOST


@given(st.lists(st.floats(0, 100), min_size=1, max_size=800), st.sampled_from([50.0, 90.0, 95.0, 99.0]))
def test_a_percentile_is_that_of_the_last_waits(seen, percent):
    waits, last = Waits(), deque(seen, maxlen=KEPT)
    for wait_s in seen:
        waits.saw(wait_s)

    found = waits.percentile(percent)

    if len(last) * (100 - percent) < 200:
        assert found == 0.0
    else:
        assert sum(wait <= found for wait in last) >= len(last) * percent / 100
        assert sum(wait < found for wait in last) < len(last) * percent / 100


def test_models_and_lengths_are_told_apart():
    ttfts = Ttfts()
    for _ in range(100):
        ttfts.saw("m", 100, 1.0)
        ttfts.saw("m", 10_000, 5.0)

    assert [ttfts.percentile("m", tokens, 95) for tokens in (90, 10_000, 1_000_000)] == [1.0, 5.0, 0.0]
    assert ttfts.percentile("other", 100, 95) == 0.0
