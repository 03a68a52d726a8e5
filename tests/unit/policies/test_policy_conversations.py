"""Laws of conversations: a tier by history alone, never down, alike in every process, and leaving costs its re-prefill."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from deciding_world import LARGE, MEDIUM, SMALL, choose, policy, world
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.catalogue import Price
from policies.decide import decide
from policies.decision import Call, Decision
from policies.estimates import Calibration, Estimate
from policies.facts import Facts
from policies.language.load import load_policy
from policies.policy import Line, MayMove, Policy, Route, StayWith
from policies.snapshot import ReplicaState, Snapshot

IDLE = Snapshot(replicas={})
LADDER = ("small", "medium", "large")


@dataclass(frozen=True)
class Turn:
    """What was asked, how long it had become, and where the line was when it was decided."""

    chances: Mapping[str, float]
    facts: Facts
    loss: float


def turns_of(history: Sequence[tuple[tuple[float, float, float], int, int | None, float]]) -> list[Turn]:
    turns, prompt = [], 0
    for (small, to_medium, to_large), length, max_tokens, loss in history:
        medium = small + (1 - small) * to_medium
        chances = {"small": small, "medium": medium, "large": medium + (1 - medium) * to_large}
        facts = Facts(prompt_tokens=prompt + length, history_tokens=prompt, max_tokens=max_tokens)
        turns.append(Turn(chances, facts, loss))
        prompt += length + 100
    return turns


PART = st.floats(0.01, 0.99)
CONVERSATIONS = st.lists(
    st.tuples(
        st.tuples(PART, PART, PART),
        st.integers(1, 20_000),
        st.sampled_from([None, 1, 16, 4_000]),
        st.floats(0.05, 30),
    ),
    min_size=2,
    max_size=6,
).map(turns_of)


def answered(rules: Policy, turns: Sequence[Turn], remembers: bool = True) -> list[int]:
    """Each turn by the line of its time, its history by the highest of them: the tiers that answered."""
    tiers, before = [], 0.0
    for at, turn in enumerate(turns):
        before = max(before, turn.loss)
        now = rules.redrawn({"default": Line(turn.loss, before if remembers else turn.loss)})
        estimate = Estimate(p_good=turn.chances, earlier=tuple(past.chances for past in turns[:at]))
        choice = decide(now, turn.facts, estimate, IDLE).choice
        assert isinstance(choice, Call)
        tiers.append(LADDER.index(choice.model))
    return tiers


@settings(max_examples=150, deadline=None)
@given(CONVERSATIONS, st.sampled_from(["tier", "model"]))
def test_nobody_is_taken_down_though_lines_fall_and_turns_differ_in_length(
    turns: list[Turn], stay_with: StayWith
) -> None:
    rules = msgspec.structs.replace(policy(SMALL, MEDIUM, LARGE), stay_with=stay_with)
    tiers = answered(rules, turns)
    assert tiers == sorted(tiers)


@settings(max_examples=150, deadline=None)
@given(CONVERSATIONS, st.integers(10_000, 2_000_000), st.integers(10_000, 8_000_000), st.integers(1, 8))
def test_two_models_priced_in_any_proportions_take_nobody_down(
    turns: list[Turn], small: int, output: int, factor: int
) -> None:
    cheap = msgspec.structs.replace(SMALL, price=Price(small, small // 10, output))
    dear = msgspec.structs.replace(LARGE, price=Price(2_000_000, 200_000, 8_000_000 * factor))
    tiers = answered(policy(cheap, dear), turns)
    assert tiers == sorted(tiers)


def test_a_long_turn_with_a_short_answer_is_remembered_by_what_it_cost_then() -> None:
    """Small charges for prompts nearly what large does, and next to nothing for answers: so long prompts go to large."""
    cheap = msgspec.structs.replace(SMALL, price=Price(1_900_000, 190_000, 10_000))
    dear = msgspec.structs.replace(LARGE, price=Price(2_000_000, 200_000, 8_000_000))
    long = Turn({"small": 0.84, "large": 0.90}, Facts(prompt_tokens=20_000, max_tokens=1), 5.0)
    short = Turn({"small": 0.899, "large": 0.90}, Facts(prompt_tokens=20_100, max_tokens=1), 5.0)
    tiers = answered(policy(cheap, dear), [short, long, short])
    assert tiers == [0, 2, 2]


@settings(max_examples=150, deadline=None)
@given(CONVERSATIONS, st.sampled_from(["tier", "model"]))
def test_processes_whose_lines_differ_take_nobody_down_when_they_tell_each_other(
    turns: list[Turn], stay_with: StayWith
) -> None:
    """Each turn is decided by a process that knows its own line alone, and where the conversation was."""
    rules = msgspec.structs.replace(policy(SMALL, MEDIUM, LARGE), stay_with=stay_with)
    tiers, was_on = list[int](), ""
    for at, turn in enumerate(turns):
        own = rules.redrawn({"default": Line(turn.loss, turn.loss)})
        estimate = Estimate(p_good=turn.chances, earlier=tuple(past.chances for past in turns[:at]))
        choice = decide(own, msgspec.structs.replace(turn.facts, was_on=was_on), estimate, IDLE).choice
        assert isinstance(choice, Call)
        tiers.append(LADDER.index(choice.model))
        was_on = choice.model if tiers[-1] else ""
    assert tiers == sorted(tiers)


def test_without_the_memory_of_lines_a_fall_would_take_a_conversation_down() -> None:
    """So that the law above is seen to depend on it."""
    hard, easy = {"small": 0.5, "medium": 0.55, "large": 0.9}, {"small": 0.9, "medium": 0.92, "large": 0.95}
    turns = [Turn(hard, Facts(prompt_tokens=50), 5.0), Turn(easy, Facts(prompt_tokens=90), 0.5)]
    rules = policy(SMALL, MEDIUM, LARGE)
    assert answered(rules, turns) == [2, 2]
    assert answered(rules, turns, remembers=False) == [2, 0]


@pytest.mark.parametrize(
    ("may_move", "stay_with", "busy", "answers"),
    [
        ("up", "tier", 400_000, "large"),
        ("up", "model", 400_000, "medium"),
        ("up", "tier", 0, "medium"),
        ("never", "tier", 400_000, "medium"),
        ("freely", "tier", 0, "small"),
    ],
)
def test_load_lifts_a_conversation_only_where_the_policy_lets_it(
    may_move: MayMove, stay_with: StayWith, busy: int, answers: str
) -> None:
    """The first turn needed medium, this one is easy, and medium has a queue."""
    rules = msgspec.structs.replace(policy(SMALL, MEDIUM, LARGE, may_move=may_move), stay_with=stay_with)
    needed = {"small": 0.2, "medium": 0.9, "large": 0.92}
    easy = {"small": 0.95, "medium": 0.96, "large": 0.97}
    queue = world(medium=[ReplicaState(replica="http://medium/v1", queued_tokens=busy)])
    choice = decide(rules, Facts(prompt_tokens=100), Estimate(p_good=easy, earlier=(needed,)), queue).choice
    assert isinstance(choice, Call)
    assert choice.model == answers


def test_a_turn_that_needs_more_moves_a_conversation_that_stays_with_its_model() -> None:
    rules = msgspec.structs.replace(policy(SMALL, MEDIUM, LARGE), stay_with="model")
    easy, hard = {"small": 0.95, "medium": 0.96, "large": 0.97}, {"small": 0.1, "medium": 0.2, "large": 0.95}
    decision = decide(rules, Facts(prompt_tokens=100), Estimate(p_good=hard, earlier=(easy,)), IDLE)
    assert decision.reason == "large: this turn needs large"
    back = decide(rules, Facts(prompt_tokens=100), Estimate(p_good=easy, earlier=(easy,)), IDLE)
    assert back.reason == "small: the conversation stays with small"


def test_a_conversation_that_never_moves_stays_though_nobody_can_say_how_hard_this_turn_is() -> None:
    rules = policy(SMALL, LARGE, may_move="never")
    estimate = Estimate(abstains="late", earlier=({"small": 0.95, "large": 0.97},))
    choice = decide(rules, Facts(prompt_tokens=100), estimate, IDLE).choice
    assert isinstance(choice, Call)
    assert choice.model == "small"


def test_a_named_model_is_honoured_in_the_middle_of_a_conversation_if_the_caller_may_use_it() -> None:
    rules = policy(SMALL, LARGE)
    hard = {"small": 0.1, "large": 0.97}
    named = Facts(requested="small", prompt_tokens=100, allowed_models=frozenset({"small"}))
    choice = decide(rules, named, Estimate(p_good=hard, earlier=(hard,)), IDLE).choice
    assert isinstance(choice, Call)
    assert choice.model == "small"
    refused = decide(rules, msgspec.structs.replace(named, requested="large"), Estimate(), IDLE).choice
    assert not isinstance(choice, type(refused))


def affinity_of(decision: Decision, name: str) -> int:
    [found] = [c for c in decision.candidates if c.model == name]
    return next(term.microusd for term in found.terms if term.name == "affinity")


EASY = {"small": 0.90, "large": 0.97}
HARD = {"small": 0.30, "large": 0.97}


def test_leaving_a_model_pays_its_re_prefill_and_a_long_history_makes_it_not_worth_while() -> None:
    """May move freely: the last turn was for large, this one is easy; coming down pays until the history is long."""
    rules = policy(
        SMALL, LARGE, may_move="freely", routes=[Route(name="default", choose=choose(SMALL, LARGE, loss=6.0))]
    )
    chosen = {}
    for history in (0, 30_000):
        facts = Facts(prompt_tokens=history + 50, history_tokens=history, max_tokens=50)
        decision = decide(rules, facts, Estimate(p_good=EASY, earlier=(HARD,)), IDLE)
        assert isinstance(decision.choice, Call)
        chosen[history] = decision.choice.model
        assert affinity_of(decision, "small") == 0
        assert (affinity_of(decision, "large") < 0) == (history > 0)
    assert chosen == {0: "small", 30_000: "large"}


def test_what_a_replica_knows_counts_and_not_what_is_taken_for_granted() -> None:
    rules = policy(SMALL, LARGE)
    facts = Facts(prompt_tokens=5_050, history_tokens=5_000)
    estimate = Estimate(p_good=EASY, earlier=(EASY,))
    empty = world(small=[ReplicaState(replica="http://small/v1", knows_residency=True)])
    guessed = world(small=[ReplicaState(replica="http://small/v1", resident_tokens=700)])
    credit = {s: affinity_of(decide(rules, facts, estimate, snapshot), "small") for s, snapshot in
              (("unknown", IDLE), ("empty", empty), ("guessed", guessed))}  # fmt: skip
    assert credit["empty"] == 0
    assert credit["unknown"] < credit["guessed"] < 0


def test_the_first_turn_of_a_conversation_is_at_home_nowhere() -> None:
    decision = decide(policy(SMALL, LARGE), Facts(prompt_tokens=500, history_tokens=400), Estimate(p_good=EASY), IDLE)
    assert (affinity_of(decision, "small"), affinity_of(decision, "large")) == (0, 0)


FILE = """policy: 1
models:
  small: {at: ["http://s1/v1", "http://s2/v1"], price: {input: $0.05/M, cached_input: $0.01/M, output: $0.20/M}}
  large: {at: ["http://l1/v1", "http://l2/v1"], price: {input: $3/M, cached_input: $0.30/M, output: $15/M}}
routes: [{name: default, choose: {by: difficulty, among: [small, large], target: {cost: 40% of large}}}]
"""
SAMPLE = Calibration(p_good={"small": tuple(i / 100 for i in range(100)), "large": (0.97,) * 100})


def built() -> Policy:
    found = load_policy(FILE, name="p.yaml", calibrate=lambda _: SAMPLE).policy
    assert found is not None
    return found


def decisions(turns: Sequence[Turn], rules: Policy) -> bytes:
    made = []
    for at, turn in enumerate(turns):
        earlier = tuple(past.chances for past in turns[:at])
        facts = msgspec.structs.replace(turn.facts, prefix=f"{at:02x}")
        made.append(decide(rules, facts, Estimate(p_good=turn.chances, earlier=earlier), IDLE))
    return msgspec.json.encode(made)


@settings(max_examples=50, deadline=None)
@given(CONVERSATIONS)
def test_two_policies_that_were_built_apart_decide_alike_to_the_byte(turns: list[Turn]) -> None:
    assert decisions(turns, BUILT[0]) == decisions(turns, BUILT[1])


BUILT = (built(), built())

SAME = [
    ((0.9, 0.5, 0.5), 40, None, 5.0),
    ((0.1, 0.5, 0.9), 4_000, 16, 5.0),
    ((0.95, 0.5, 0.5), 20, None, 5.0),
    ((0.5, 0.5, 0.5), 900, None, 5.0),
]


@pytest.mark.parametrize("seed", ["0", "1"])
def test_another_process_with_other_hashes_decides_alike_to_the_byte(seed: str) -> None:
    here = str(Path(__file__).parent)
    code = (
        f"import sys; sys.path.insert(0, {here!r}); import test_policy_conversations as t; "
        "sys.stdout.buffer.write(t.decisions(t.turns_of(t.SAME), t.built()))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    there = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True, timeout=60)
    assert there.stdout == decisions(turns_of(SAME), built())
