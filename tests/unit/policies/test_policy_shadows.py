"""`shadows:` of a policy file: what is compiled, what is refused; who is sampled; what comparing two answers says."""

from collections import Counter

import pytest

from policies.catalogue import Model
from policies.decision import Call, Decision
from policies.escalate.said import Said, SaidCall, Wanted
from policies.facts import Facts
from policies.language.load import load_policy
from policies.shadows.likeness import likeness
from policies.shadows.plan import Limits, Shadow
from policies.shadows.sample import is_of, picks, why_unfit
from policies.shadows.verdict import findings

HEAD = """policy: 1
models:
  small: {at: "http://a/v1"}
  large: {at: "http://b/v1", price: {input: $1/M, output: $2/M}, fits: {output: 8k}}
routes: [{name: chat, use: small}]
"""
SHADOW = """shadows:
  - name: could
    of: chat
    to: large
    sample: 2%
    limits: {cost: $0.50/day, deadline: 5s}
    never_when: {header.x-no-shadow: "true"}
    noise_floor: {answer_twice: 10%}
"""


def load(text):
    return load_policy(text, name="p", calibrate=lambda _: None)


def told(text):
    loaded = load(text)
    assert loaded.policy is None
    return [f"{problem.line}:{problem.column} {problem.message}" for problem in loaded.problems]


def test_a_shadow_of_the_file_is_what_the_gateway_samples_by():
    policy = load(HEAD + SHADOW).policy

    (shadow,) = policy.shadows
    assert shadow.routes == {"chat"}
    assert shadow.models == frozenset()
    assert (shadow.sample, shadow.answer_twice, shadow.compare) == (0.02, 0.1, ("exact", "structure"))
    assert shadow.limits == Limits(microusd_per_day=500_000, deadline_s=5.0)
    assert policy.headers_read == {"x-no-shadow"}
    assert shadow.leaves_out(Facts(headers={"x-no-shadow": "true"}))
    assert not shadow.leaves_out(Facts())


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("cost: $0.50/day", "cost: 5", "11:20 shadows.could.limits.cost needs a unit: $5/day"),
        (
            "cost: $0.50/day, ",
            "",
            "7:5 shadows.could needs limits: {cost: $5/day} or another amount: large has a price",
        ),
        (
            ", fits: {output: 8k}",
            "",
            "7:5 shadows.could asks large, of which it must be known what an answer costs at most: state its fits: "
            "{output: 8k}",
        ),
        ("of: chat", "of: chats", '8:9 shadows.could.of names no route and no model: chats; did you mean "chat"?'),
        (
            "of: chat",
            "of: large",
            "9:9 shadows.could.to is compared with itself; noise_floor says how much a model differs",
        ),
        (
            "to: large",
            "to: larg",
            '9:9 shadows.could.to names the model larg, which is not declared; did you mean "large"?',
        ),
        ("sample: 2%", "sample: 2", "10:13 shadows.could.sample needs a unit: 2%"),
        ("sample: 2%", "judge: small", "10:5 shadows.could.judge is not a key here"),
    ],
)
def test_a_shadow_that_makes_no_sense_is_told_where_and_why(old, new, problem):
    assert any(line.startswith(problem) for line in told((HEAD + SHADOW).replace(old, new, 1)))


def test_a_name_that_is_a_route_and_a_model_is_refused():
    found = told(HEAD.replace("name: chat", "name: small") + SHADOW.replace("of: chat", "of: small"))

    assert "8:9 shadows.could.of is small, which is a route and a model; rename the route" in found


def decided(route="chat", model="small", *more):
    calls = tuple(Call(name, "r") for name in (model, *more))
    return Decision(steps=calls, route=route, reason="", policy_hash="")


def test_who_is_sampled_hangs_on_the_id_alone_and_comes_to_the_share():
    shadow = Shadow(name="s", to="large", routes=frozenset({"chat"}), sample=0.25, answer_twice=0.5)
    ids = [f"req_{i}" for i in range(4_000)]

    found = [picks((shadow,), Facts(), decided(), name) for name in ids]

    assert found == [picks((shadow,), Facts(), decided(), name) for name in ids]
    sampled = [picked for one in found for picked in one]
    assert 900 < len(sampled) < 1_100
    assert 0.45 < sum(picked.twice for picked in sampled) / len(sampled) < 0.55
    assert {picked.propensity for picked in sampled} == {0.25}


def test_two_shadows_draw_apart_and_only_their_own_routes_and_models_are_theirs():
    one = Shadow(name="one", to="x", routes=frozenset({"chat"}), sample=0.5)
    other = Shadow(name="other", to="x", models=frozenset({"large"}), sample=0.5)

    both = Counter(
        tuple(picked.shadow.name for picked in picks((one, other), Facts(), decided("chat", "small", "large"), f"{i}"))
        for i in range(2_000)
    )

    assert all(400 < both[names] < 600 for names in ((), ("one",), ("other",), ("one", "other")))
    assert not picks((other,), Facts(), decided("chat", "small"), "7")
    assert not is_of(other, "chat", "small")
    assert not is_of(one, "chat", "x"), "a model is not compared with itself"


def test_whoever_may_not_use_a_model_is_not_shadowed_by_it():
    assert why_unfit(Model(name="large"), Facts(allowed_models=frozenset({"small"})))
    assert not why_unfit(Model(name="large"), Facts())


RUNGS = ("exact", "structure")


@pytest.mark.parametrize(
    ("one", "other", "wanted", "expected"),
    [
        (Said(text="The answer: 4."), Said(text="the  ANSWER 4"), Wanted(), {"exact": 1.0, "normalised": 0.0}),
        (Said(text="4"), Said(text="5"), Wanted(), {"exact": 1.0, "normalised": 1.0}),
        (
            Said(text='{"a": 1}'),
            Said(text='{ "a":1 }', ending="stop"),
            Wanted(json=True),
            {"exact": 1.0, "normalised": 0.0, "structure": 0.0, "misshapen": 0.0},
        ),
        (
            Said(text='{"a": 1}'),
            Said(text="no", ending="stop"),
            Wanted(json=True),
            {"exact": 1.0, "normalised": 1.0, "structure": 1.0, "misshapen": 1.0},
        ),
        (
            Said(calls=(SaidCall("f", '{"a":1,"b":2}'),)),
            Said(calls=(SaidCall("f", '{"b": 2, "a": 1}'),), ending="tool_calls"),
            Wanted(tools={"f": {}}),
            {"exact": 1.0, "normalised": 0.0, "structure": 0.0, "misshapen": 0.0},
        ),
        (
            Said(calls=(SaidCall("f", "{}"),)),
            Said(calls=(SaidCall("g", "{}"),), ending="tool_calls"),
            Wanted(tools={"f": {}}),
            {"exact": 1.0, "normalised": 1.0, "structure": 1.0, "misshapen": 1.0},
        ),
    ],
)
def test_two_answers_are_compared_rung_by_rung(one, other, wanted, expected):
    assert likeness(one, other, wanted, RUNGS) == expected


def test_without_a_noise_floor_the_verdict_says_that_there_is_none():
    from policies.shadows.evidence import learnt

    (told_of,) = findings(learnt({}, {"exact": 100}, {}), "large", "small")

    assert told_of.says == "no_floor"
    assert "noise_floor" in told_of.words
