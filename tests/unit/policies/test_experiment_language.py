"""`experiments:` and `guardrails:` of the policy file: what compiles, and every mistake with its place."""

import msgspec
import pytest

from policies.decide import decide
from policies.estimates import Calibration, Estimate
from policies.experiments.plan import Margin
from policies.facts import Facts
from policies.field import assigned
from policies.language.kept import keep, restored
from policies.language.load import load_policy
from policies.snapshot import ReplicaState, Snapshot

BASE = """policy: 1
models:
  small: {at: "http://127.0.0.1:9001/v1", serves: qwen3-8b, price: {input: $0.05/M, output: $0.20/M}}
  large: {at: "http://127.0.0.1:9002/v1", price: {input: $3/M, output: $15/M}}
  gpt-4.1: {at: "http://127.0.0.1:9003/v1", price: {input: $3/M, output: $15/M}}
routes:
  - {name: vision, when: {has: images}, use: large}
  - {choose: {by: difficulty, among: [small, large], target: {cost: 40% of large}}}
guardrails:
  errors: {metric: error_rate, worse_by: 0.5pp}
  latency: {metric: ttft.p95, worse_by: 20%, act: hold}
  quality: {metric: task_success, worse_by: 10%}
"""

ONE = """experiments:
  - name: small-v2
    on: default
    unit: user
    salt: 2026-11
    variants:
      control: {weight: 90}
      treat:
        weight: 10
        set:
          models.small.serves: qwen3-8b-v2
          routes.default.choose.target.cost: 20% of large
          models.gpt-4.1.fits: {context: 64k}
    measure:
      primary: {metric: task_success, kind: binary, better: up, smallest_effect: 1pp}
      also: [cost_per_request, ttft.p95]
      adjust_by: [predicted_difficulty]
    decide: {method: anytime, alpha: 5%, at_most: 14d, then: ask}
    watch: [errors, latency, quality]
    health: {sample_ratio: 0.1%, on_fail: hold}
"""

SAMPLE = Calibration(p_good={"small": (0.2, 0.5, 0.9) * 30, "large": (0.8, 0.9, 0.95) * 30, "gpt-4.1": (0.9,) * 90})
IDLE = Snapshot(
    replicas={
        name: (ReplicaState(replica=f"http://127.0.0.1:{port}/v1"),)
        for name, port in (("small", 9001), ("large", 9002), ("gpt-4.1", 9003))
    }
)


def load(text):
    return load_policy(text, name="policy.yaml", calibrate=lambda _: SAMPLE)


def told(text):
    return [(problem.line, problem.column, problem.message) for problem in load(text).problems]


def policy(text=BASE + ONE):
    loaded = load(text)
    assert loaded.policy is not None, "\n".join(problem.render() for problem in loaded.problems)
    return loaded.policy


def user(number):
    return Facts(prompt_tokens=100, units={"user": f"user-{number}"})


def test_an_experiment_compiles_with_all_that_it_states():
    found = policy().experiments[0]

    assert (found.name, found.unit, found.salt, found.routes) == ("small-v2", "user", "2026-11", frozenset({"default"}))
    assert found.weights == {"control": 90, "treat": 10}
    assert (found.control, found.treatments) == ("control", ("treat",))
    assert (found.alpha, found.at_most_s, found.then) == (0.05, 14 * 86_400, "ask")
    assert [rail.margin for rail in found.watch] == [Margin(plus=0.005), Margin(times=1.2), Margin(0.9, 0.1)]
    assert [rail.act for rail in found.watch] == ["roll_back", "hold", "roll_back"]
    assert found.primary is not None
    assert found.primary.better == "up"
    assert [metric.quantile for metric in found.also] == [0.0, 0.95]


def test_a_variant_is_a_whole_policy_with_what_it_sets():
    base = policy()
    arm = base.arms["small-v2=treat"]

    assert (base.models["small"].serves, arm.models["small"].serves) == ("qwen3-8b", "qwen3-8b-v2")
    assert arm.models["gpt-4.1"].fits.context == 64_000
    assert arm.models["large"] == base.models["large"]
    assert (base.routes[1].choose.target.percent, arm.routes[1].choose.target.percent) == (40, 20)
    assert arm.routes[1].choose.loss_per_reference < base.routes[1].choose.loss_per_reference
    assert arm.hash == base.hash
    assert (arm.experiments, arm.arms) == ((), {})


def test_a_request_is_decided_by_the_policy_of_its_variant_and_says_so():
    base, seen = policy(), set()
    sure = Estimate(p_good={"small": 0.45, "large": 0.95})
    for number in range(200):
        decision = decide(base, user(number), sure, IDLE)
        (found,) = decision.assignments
        seen.add(found.variant)
        assert found.propensity == {"control": 0.9, "treat": 0.1}[found.variant]
        own = base.arms["small-v2=treat"] if found.variant == "treat" else base
        assert decision.line == own.routes[1].choose.line

    assert seen == {"control", "treat"}


def test_requests_of_other_routes_and_without_their_unit_take_no_part():
    base = policy()

    assert assigned(base, Facts(needs=frozenset({"vision"}), units={"user": "u"}), forced={}, ramps={}) == ()
    assert assigned(base, Facts(), forced={}, ramps={}) == ()
    assert assigned(base, Facts(requested="small", units={"user": "u"}), forced={}, ramps={}) == ()


def test_an_experiment_that_is_over_gives_everybody_one_variant_and_exposes_nobody():
    for number in range(20):
        (found,) = assigned(policy(), user(number), forced={"small-v2": "treat"}, ramps={})
        assert (found.variant, found.unit, found.propensity, found.changes) == ("treat", "", 1.0, True)


def test_weights_that_follow_move_as_few_units_as_must_and_are_the_propensity():
    base, history = policy(), ({"control": 50.0, "treat": 50.0}, {"control": 20.0, "treat": 80.0})
    found = []
    for number in range(300):
        steps = [assigned(base, user(number), forced={}, ramps={"small-v2": history[:n]})[0] for n in range(3)]
        found.append([step.variant for step in steps])
        assert steps[2].propensity == {"control": 0.2, "treat": 0.8}[steps[2].variant]

    treated = [sum(row[n] == "treat" for row in found) for n in range(3)]
    assert not [row for row in found if "treat" in row and row != sorted(row)]
    assert treated[0] < treated[1] < treated[2]


def test_arms_are_kept_with_the_policy_and_decide_alike_again():
    base = policy()
    again = restored(msgspec.json.decode(msgspec.json.encode(keep(base, BASE + ONE)), type=type(keep(base, ""))))

    assert again.experiments == base.experiments
    for number in range(60):
        args = user(number), Estimate(p_good={"small": 0.45, "large": 0.95}), IDLE
        assert msgspec.json.encode(decide(again, *args)) == msgspec.json.encode(decide(base, *args))


def test_lines_of_an_arm_follow_the_files_own_unless_they_are_its_own():
    base = policy()
    line = msgspec.structs.replace(base.routes[1].choose.line, loss=9.0, loss_before=9.0)
    other = msgspec.structs.replace(line, loss=5.0)

    drawn = base.redrawn({"default": line, "small-v2=treat/default": other})

    assert drawn.routes[1].choose.line.loss == 9.0
    assert drawn.arms["small-v2=treat"].routes[1].choose.loss_per_reference == 5.0
    assert base.redrawn({"default": line}).arms["small-v2=treat"].routes[1].choose.loss_per_reference == 9.0


TWO_LAYERS = (
    ONE.replace("on: default", "layer: one")
    + """  - name: patience
    unit: request
    variants: {control: {weight: 1}, short: {weight: 1, set: {resilience.attempts: 1}}}
"""
)


def test_variants_of_two_layers_meet_in_policies_of_their_own():
    base = policy(BASE + TWO_LAYERS)

    assert set(base.arms) == {"small-v2=treat", "patience=short", "small-v2=treat,patience=short"}
    both = base.arms["small-v2=treat,patience=short"]
    assert (both.resilience.attempts, both.models["small"].serves) == (1, "qwen3-8b-v2")
    facts = Facts(units={"user": "a", "request": "b"})
    assert len(assigned(base, facts, forced={}, ramps={})) == 2


def test_experiments_of_a_layer_follow_each_other_and_may_state_their_ends():
    text = (
        BASE
        + """experiments:
  - {name: a, layer: chat, traffic: 20%, variants: {c: {weight: 1}, t: {weight: 1}}}
  - {name: b, layer: chat, traffic: 30%, variants: {c: {weight: 1}, t: {weight: 1}}}
  - {name: c, layer: chat, traffic: "60% to 80%", variants: {c: {weight: 1}, t: {weight: 1}}}
"""
    )
    assert [(e.starts, e.ends) for e in policy(text).experiments] == [(0.0, 0.2), (0.2, 0.5), (0.6, 0.8)]


@pytest.mark.parametrize(
    ("old", "new", "at", "words"),
    [
        ("models.small.serves", "models.smal.serves", "models.smal", 'models has no smal; did you mean "small"?'),
        ("models.small.serves", "models.small.srves", "models.small.srves", 'has no srves; did you mean "serves"?'),
        (
            "models.small.serves: qwen3-8b-v2",
            "models.small.price: cheap",
            "cheap",
            "models.small.price should be a map",
        ),
        ("routes.default.choose", "routes.defalt.choose", "routes.defalt", 'no defalt; did you mean "default"?'),
        ("cost: 20% of large", "cost: 21%", "21%", "small-v2=treat: routes.1.choose.target.cost should be a share"),
        ("target.cost: 20% of large", "target.cost: 20% of larg", "20% of larg\n", "is measured against larg"),
        ("models.small.serves: qwen3-8b-v2", "tests: []", "tests", "a variant cannot change tests"),
        ("models.small.serves: qwen3-8b-v2", "policy: 2", "policy: 2", "a variant cannot change policy"),
        (
            "target.cost: 20% of large",
            "floor: {quality: 99.9% of large}",
            "routes.default.choose.floor",
            "cannot be held",
        ),
        (
            "models.small.serves: qwen3-8b-v2",
            "models.large.can: [tools]",
            "models.large.can",
            "no model of the route can: large lacks vision",
        ),
        ("models.small.serves: qwen3-8b-v2", "models.small.serves.x: 1", "models.small.serves.x", "is a single value"),
        ("models.small.serves: qwen3-8b-v2", "models.large.key: sk-abcdefgh12345678", "sk-abcdefgh", "secret"),
        ("on: default", "on: defaut", "defaut", 'names no route: defaut; did you mean "default"?'),
        ("watch: [errors,", "watch: [erors,", "erors,", 'which is not declared; did you mean "errors"?'),
        ("{metric: task_success, kind", "{metric: task_succes, kind", "task_succes,", 'did you mean "task_success"?'),
        ("also: [cost_per_request,", "also: [cost,", "cost, t", "is cost, which is not measured here"),
        ("kind: binary", "kind: mean", "mean,", "is mean; task_success is binary"),
        ("weight: 90", "weight: 0", "0}\n      treat", "has no weight"),
        ("weight: 90", "weight: -1", "-1}", "greater than or equal to 0"),
        ("worse_by: 0.5pp", "worse_by: 0.5", "0.5}", "needs a unit: 0.5%"),
        ("ttft.p95, worse_by: 20%", "ttft.p95, worse_by: 20pp", "20pp", "ttft.p95 is no rate"),
        ("alpha: 5%", "alpha: 50%", "50%", "at most 20%"),
        ("at_most: 14d", "at_most: 14", "14,", "needs a unit"),
        ("unit: user", "unit: usr", "usr", 'did you mean "user"?'),
        ("salt: 2026-11", "slat: 2026-11", "slat", 'did you mean "salt"?'),
    ],
)
def test_a_mistake_is_told_with_its_place(old, new, at, words):
    text = (BASE + ONE).replace(old, new, 1)
    before = text[: text.index(at)]
    place = before.count("\n") + 1, len(before) - before.rfind("\n")

    found = told(text)

    assert any((line, column) == place and words in message for line, column, message in found), (place, found)


def clash(first, second):
    return (
        BASE
        + f"""experiments:
  - {{name: a, {first}}}
  - {{name: b, {second}}}
"""
    )


ARMS = "variants: {c: {weight: 1}, t: {weight: 1, set: {models.small.serves: x}}}"


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (f"layer: l, {ARMS}", f"layer: l, {ARMS}", "take more than all units"),
        (f"layer: l, traffic: 50%, {ARMS}", f"layer: l, traffic: 40% to 60%, {ARMS}", "takes units of a"),
        (
            f"layer: l, traffic: 50%, {ARMS}",
            f"layer: l, traffic: 50%, unit: user, {ARMS}",
            "a layer has one kind of unit",
        ),
        (ARMS, ARMS, "is changed by a too, for the same requests"),
        (ARMS, ARMS.replace(".serves: x", ": {at: 'http://x/v1'}"), "is changed by a too"),
    ],
)
def test_experiments_that_clash_are_refused(first, second, words):
    assert any(words in message for _, _, message in told(clash(first, second)))


def test_experiments_of_routes_that_do_not_meet_may_change_the_same_place():
    assert len(policy(clash(f"on: vision, {ARMS}", f"on: default, {ARMS}")).arms) == 2


def test_a_name_twice_is_refused():
    assert any(
        "name of two experiments" in message for *_, message in told(clash(ARMS, ARMS).replace("name: b", "name: a"))
    )


def test_too_many_combinations_are_refused_rather_than_compiled():
    many = "".join(
        f"  - {{name: e{i}, variants: {{c: {{weight: 1}}, t: {{weight: 1, set: {{{path}}}}}}}}}\n"
        for i, path in enumerate(
            (
                "resilience.attempts: 1", "resilience.connect: 1s", "resilience.gap: 1s", "resilience.total: 9m",
                "affinity.spill_after: 2", "affinity.max_imbalance: 1.2", "conversations.for: 2h",
            )
        )
    )  # fmt: skip
    assert any("more than 64 policies" in message for *_, message in told(BASE + "experiments:\n" + many))
