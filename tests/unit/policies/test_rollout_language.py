"""`rollouts:` of the policy file: what compiles, and every mistake with its place."""

import msgspec
import pytest

from policies.decide import decide
from policies.estimates import Calibration, Estimate
from policies.experiments.plan import CANARY, CONTROL, Step
from policies.experiments.rollout import ramped_to
from policies.facts import Facts
from policies.field import assigned
from policies.language.kept import keep, restored
from policies.language.load import load_policy
from policies.shadows.plan import names_of, of_rollout
from policies.snapshot import ReplicaState, Snapshot

TEXT = """policy: 1
models:
  m: {at: "http://127.0.0.1:9001/v1", serves: first}
  v: {at: "http://127.0.0.1:9002/v1"}
routes:
  - {name: vision, when: {has: images}, use: v}
  - {name: default, use: m}
guardrails:
  errors: {metric: error_rate, worse_by: 0.5pp}
  cost: {metric: cost_per_request, worse_by: 15%, act: hold}
experiments:
  - {name: patience, on: vision, variants: {control: {weight: 1}, short: {weight: 1, set: {resilience.attempts: 1}}}}
rollouts:
  - name: next
    on: default
    change: {models.m.serves: second}
    unit: user
    compare_with: matched
    salt: a
    steps:
      - {traffic: 1%, for: 30m, and: {samples: 200}}
      - {approve: oncall}
      - {traffic: 100%, for: 24h}
    watch: [errors, cost]
"""

IDLE = Snapshot(
    replicas={name: (ReplicaState(replica=f"http://127.0.0.1:900{i}/v1"),) for i, name in ((1, "m"), (2, "v"))}
)


def load(text):
    return load_policy(text, name="policy.yaml", calibrate=lambda _: Calibration(p_good={}))


def policy(text=TEXT):
    loaded = load(text)
    assert loaded.policy is not None, "\n".join(problem.render() for problem in loaded.problems)
    return loaded.policy


def user(number):
    return Facts(units={"user": f"user-{number}"})


def test_a_rollout_is_an_experiment_of_two_whose_canary_is_a_policy_of_its_own() -> None:
    base = policy()
    found = base.experiments[-1]

    assert (found.name, found.unit, found.control, found.treatments) == ("next", "user", CONTROL, (CANARY,))
    assert found.steps == (Step(0.01, 1_800.0, 200), Step(approve="oncall"), Step(1.0, 86_400.0))
    assert [(rail.name, rail.act) for rail in found.watch] == [("errors", "roll_back"), ("cost", "hold")]
    assert base.arms["next=canary"].models["m"].serves == "second"
    assert base.models["m"].serves == "first"


def test_nobody_takes_part_before_it_has_begun_and_then_as_many_as_its_step_says() -> None:
    base = policy()
    ramps = {"next": ramped_to((), 0.25)}
    found = [assigned(base, user(number), forced={}, ramps=ramps) for number in range(400)]
    variants = [one[0].variant for one in found if one]

    assert not any(assigned(base, user(number), forced={}, ramps={}) for number in range(50))
    assert abs(variants.count(CANARY) - 100) < 40
    assert abs(variants.count(CONTROL) - 100) < 40
    assert assigned(base, Facts(units={"user": "u"}, needs=frozenset({"vision"})), forced={}, ramps=ramps) == ()


def test_what_was_decided_is_decided_again_from_the_snapshot_alone() -> None:
    base = policy()
    again = restored(msgspec.json.decode(msgspec.json.encode(keep(base, TEXT)), type=type(keep(base, ""))))
    here = msgspec.structs.replace(IDLE, ramps={"next": ramped_to((), 0.5)})
    twice = msgspec.json.decode(msgspec.json.encode(here), type=Snapshot)

    for number in range(40):
        one = decide(base, user(number), Estimate(abstains="x"), here)
        assert msgspec.json.encode(one) == msgspec.json.encode(
            decide(again, user(number), Estimate(abstains="x"), twice)
        )
        assert one.assignments


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("models.m.serves: second", "models.n.serves: second", "models has no n"),
        ("models.m.serves: second", "models.m.srves: second", 'has no srves; did you mean "serves"?'),
        ("models.m.serves: second", "rollouts: []", "a variant cannot change rollouts"),
        ("{models.m.serves: second}", "{}", "should not be empty"),
        ("on: default\n", "on: defalt\n", 'names no route: defalt; did you mean "default"?'),
        ("watch: [errors, cost]", "watch: [erors]", 'which is not declared; did you mean "errors"?'),
        ("watch: [errors, cost]", "watch: []", "should not be empty"),
        ("traffic: 1%, for: 30m, and: {samples: 200}", "traffic: 1%", "would be over at once: state for"),
        ("traffic: 1%,", "traffic: 1,", "needs a unit: 1%"),
        ("traffic: 1%,", "traffic: 101%,", "at most 100%"),
        ("traffic: 100%,", "traffic: 1%,", "is not more than the 1% of the step before"),
        ("{approve: oncall}", "{approve: oncall, for: 30m}", "for and samples go with traffic"),
        ("{approve: oncall}", "{approve: oncall, traffic: 5%}", "needs exactly one of traffic, approve and shadow"),
        ("{approve: oncall}", "{shadow: 5%, until: {pairs: 9}}", "comes after traffic"),
        ("{approve: oncall}", "{approve: oncall, until: {pairs: 9}}", "has until, which goes with shadow"),
        ("- {traffic: 1%,", "- {shadow: 5%}\n      - {traffic: 1%,", "has no end: state until"),
        ("- {traffic: 1%,", "- {shadow: 5%, until: {pairs: 9}, for: 1h}\n      - {traffic: 1%,", "for and samples go with"),
        ("- {traffic: 1%,", "- {shadow: 5%, until: {pairs: 0}}\n      - {traffic: 1%,", "greater than or equal to 1"),
        ("- {traffic: 1%,", "- {shadow: 5%, until: {pairs: 500}}\n      - {traffic: 1%,", None),
        ("{approve: oncall}", "{}", "needs exactly one of traffic, approve and shadow"),
        ("name: next", "name: patience", "is the name of another experiment or rollout"),
        ("compare_with: matched", "compare_with: before", "matched"),
        ("on: vision, variants", "variants", None),
        ("on: vision, variants: {control: {weight: 1}, short: {weight: 1, set: {resilience.attempts: 1}}}",
         "variants: {control: {weight: 1}, short: {weight: 1, set: {models.m.serves: x}}}",
         "is changed by patience too, for the same requests"),
    ],
)  # fmt: skip
def test_a_mistake_is_told(old: str, new: str, words: str | None) -> None:
    assert old in TEXT
    told = [problem.message for problem in load(TEXT.replace(old, new, 1)).problems]

    assert told == [] if words is None else any(words in message for message in told), told


def test_steps_without_traffic_lead_nowhere() -> None:
    text = TEXT.replace("{traffic: 1%, for: 30m, and: {samples: 200}}", "{approve: a}").replace(
        "{traffic: 100%, for: 24h}", "{approve: b}"
    )
    assert any("have no traffic" in problem.message for problem in load(text).problems)


def test_two_rollouts_of_the_same_place_are_refused() -> None:
    other = TEXT[TEXT.index("  - name: next") :].replace("name: next", "name: other")
    assert any("is changed by next too" in problem.message for problem in load(TEXT + other).problems)


def test_a_shadow_before_the_first_traffic_is_a_step() -> None:
    steps = "    steps:\n"
    base = policy(TEXT.replace(steps, steps + "      - {shadow: 5%, until: {pairs: 500}}\n"))
    found = base.experiments[-1]

    assert found.steps[0] == Step(shadow=0.05, pairs=500)
    assert names_of(base.shadows, base.experiments) == ["rollout next"]
    asking = of_rollout(found)
    assert asking is not None
    assert (asking.rollout, asking.routes, asking.sample) == ("next", frozenset({"default"}), 0.05)
    assert of_rollout(policy().experiments[-1]) is None
