"""`when: {stuck: ...}`: an agent that is stuck gets the larger model, and keeps it where the conversation moves."""

import pytest

from policies.decide import decide
from policies.decision import Call, Decision
from policies.escalate.stuck import Stuck
from policies.estimates import Calibration, Estimate
from policies.facts import Facts
from policies.language.load import Loaded, load_policy
from policies.policy import Policy
from policies.snapshot import Snapshot

SAMPLE = Calibration(p_good={"small": tuple(i / 100 for i in range(100)), "large": (0.97,) * 100})
EASY = Estimate(p_good={"small": 0.97, "large": 0.97})
GOOD = """policy: 1
models:
  small: {at: "http://a/v1", price: {input: $1/M, output: $1/M}}
  large: {at: "http://b/v1", price: {input: $9/M, output: $9/M}}
routes:
  - {name: agents, when: {has: tools}, use: small, escalate: agent}
  - {name: default, choose: {by: difficulty, among: [small, large], target: {cost: 40% of large}}, escalate: agent}
escalations:
  agent:
    to: large
    when: {stuck: {turns: 3}}
"""


def load(text: str) -> Loaded:
    return load_policy(text, name="p.yaml", calibrate=lambda _: SAMPLE)


def loaded(text: str = GOOD) -> Policy:
    found = load(text)
    assert found.policy is not None, [problem.render() for problem in found.problems]
    return found.policy


def decided(policy: Policy, stuck: Stuck, tools: bool = True, **facts: object) -> Decision:
    known = Facts(prompt_tokens=200, needs=frozenset({"tools"} if tools else ()), stuck=stuck, **facts)  # type: ignore[arg-type]
    return decide(policy, known, EASY, Snapshot(replicas={}))


def model(decision: Decision) -> str:
    assert isinstance(decision.choice, Call)
    return decision.choice.model


@pytest.mark.parametrize("tools", [True, False])
def test_so_many_turns_in_a_row_and_the_larger_model_is_asked_at_once(tools: bool) -> None:
    policy = loaded()
    assert model(decided(policy, Stuck(2, 2, 2, 0), tools)) == "small"
    decision = decided(policy, Stuck(3, 3, 3, 1), tools)
    assert model(decision) == "large"
    assert decision.reason == "large: stuck for 3 turns: calls that fail, calls made before"
    assert decision.hold is None


def test_no_answer_is_held_back_where_none_is_judged() -> None:
    decision = decided(loaded(), Stuck())
    assert (decision.hold, decision.unheld) == (None, "agent judges no answer")


def test_freed_the_conversation_stays_above_or_goes_back_as_the_policy_says() -> None:
    was = Stuck(0, 4, 0, 4)
    assert decided(loaded(), was).reason == "large: was stuck for 4 turns: calls made before"
    for back in (GOOD + "    moves: answer\n", GOOD + "conversations: {may_move: freely}\n"):
        assert model(decided(loaded(back), was)) == "small"
        assert model(decided(loaded(back), Stuck(4, 4, 0, 4), tools=False)) == "large", "while it is stuck"


def test_both_conditions_stand_beside_each_other() -> None:
    policy = loaded(GOOD.replace("{turns: 3}", "{turns: 3}, p_correct: {under: 70%}"))
    held = decided(policy, Stuck())
    assert held.hold is not None
    assert held.hold.of == ("small",)
    assert model(decided(policy, Stuck(3, 3, 3, 0))) == "large"


def test_a_policys_own_tests_say_it_in_a_word() -> None:
    tests = "tests: [{given: {tools: 1, stuck: %d}, expect: {model: large}}]\n"
    assert load(GOOD + tests % 3).policy is not None
    [problem] = load(GOOD + tests % 2).problems
    assert "expected model large, got small" in problem.message


def test_it_is_no_reason_to_look_up_what_was_escalated_before() -> None:
    policy = loaded()
    assert (policy.watches_agents, policy.moves_conversations) == (True, False)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("{stuck: {turns: 3}}", "{}", "11:5 escalations.agent.when is never met: needs p_correct or stuck"),
        ("{turns: 3}", "{turns: 1}", "11:27 escalations.agent.when.stuck.turns should be"),
        ("{turns: 3}", "{}", '11:12 escalations.agent.when.stuck needs the key "turns"'),
        ("{turns: 3}", "{steps: 3}", "11:20 escalations.agent.when.stuck.steps is not a key here"),
        (
            "to: large",
            "to: large\n    at_most: 5% of requests",
            "11:5 escalations.agent.at_most has no answer to judge",
        ),
        (
            "to: large",
            "to: large\n    hold_back: {tokens: 9}",
            "11:5 escalations.agent.hold_back has no answer to judge",
        ),
        ("to: large", "to: large\n    moves: session", "11:12 escalations.agent.moves should be one of"),
        ("to: large", "to: small", "6:62 routes.agents.escalate goes to small"),
    ],
)
def test_what_makes_no_sense_is_told_where_it_stands(old: str, new: str, problem: str) -> None:
    assert old in GOOD
    found = load(GOOD.replace(old, new, 1))
    told = [f"{one.line}:{one.column} {one.message}" for one in found.problems]
    assert found.policy is None
    assert any(line.startswith(problem) for line in told), told
