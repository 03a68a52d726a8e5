"""What evidence comes to: words, breaches, winners, and how an experiment stands after them."""

import msgspec
import numpy as np
import pytest

from policies.experiments import trial as trials
from policies.experiments.metrics import MEASURED, NAMES, metric_of
from policies.experiments.plan import Experiment, Guardrail, Margin, Variant
from policies.experiments.power import units_needed
from policies.experiments.standing import Standing, after, print_of
from policies.experiments.trial import Exposure, Trial
from policies.experiments.verdict import verdict

RAIL = Guardrail(name="errors", metric=MEASURED["error_rate"], margin=Margin(plus=0.005), alpha=0.01)


def experiment(**told):
    known = {
        "name": "e",
        "unit": "request",
        "layer": "l",
        "salt": "",
        "variants": (Variant("control", 1.0), Variant("treat", 1.0, "x")),
        "routes": frozenset({"default"}),
        "primary": MEASURED["task_success"],
        "watch": (RAIL,),
    }
    return Experiment(**{**known, **told})


def seen(of, *, count=2_000, seed=1, success=None, error=None, share=0.5):
    """A trial where variants have these rates; `share` of the units are treated."""
    random, state = np.random.default_rng(seed), trials.begin(of)
    success, error = success or {}, error or {}
    names = [variant.name for variant in of.variants]
    chances = dict(zip(names, [1 - share, share] if len(names) == 2 else [1 / len(names)] * len(names), strict=True))
    for number in range(count):
        name = str(random.choice(names, p=list(chances.values())))
        exposure = Exposure(of.name, name, f"u{number % 400}", chances)
        values = {
            "success": float(random.random() < success.get(name, 0.8)),
            "error": float(random.random() < error.get(name, 0.005)),
        }
        state = trials.measured(trials.exposed(state, exposure, fresh=True), of, exposure, values)
    return state


def test_a_better_variant_wins_and_the_words_have_the_numbers():
    of = experiment()
    found = verdict(of, seen(of, success={"treat": 0.9}), 60)

    assert (found.outcome, found.variant) == ("winner", "treat")
    assert found.words.startswith("treat is better than control by task_success: 8")
    assert all(word in found.words for word in ("pp (between +", "at every look", "2000 requests"))
    (first, *_) = found.findings
    assert first.treat - first.control == pytest.approx(first.change, abs=0.01)
    assert first.low is not None
    assert first.low < 0.1 < first.high


def test_a_worse_variant_is_decided_for_control_and_no_difference_is_not_decided():
    of = experiment()

    assert verdict(of, seen(of, success={"treat": 0.65}), 60).outcome == "control"
    same = verdict(of, seen(of), 60)
    assert same.outcome == "running"
    assert "are not told apart by task_success" in same.words


def test_time_that_is_up_ends_what_is_not_decided():
    of = experiment(at_most_s=60.0)
    state = seen(of, count=300)

    assert verdict(of, state, 59).outcome == "running"
    assert verdict(of, state, 60).outcome == "over"


def test_a_broken_guardrail_goes_before_a_winner():
    of = experiment()
    found = verdict(of, seen(of, success={"treat": 0.95}, error={"treat": 0.1}), 60)

    assert found.outcome == "breach"
    assert [(breach.variant, breach.guardrail, breach.act) for breach in found.breaches] == [
        ("treat", "errors", "roll_back")
    ]
    assert "treat breaks the guardrail errors" in found.words


@pytest.mark.parametrize(("share", "rate", "most"), [(0.05, 0.1, 150), (0.5, 0.1, 300), (0.25, 0.03, 600)])
def test_a_canary_that_fails_is_stopped_after_few_of_its_requests(share, rate, most):
    """Errors from .5 % to 10 % or 3 %: median canary requests until the guardrail breaks."""
    of = experiment(primary=None, watch=(msgspec.structs.replace(RAIL, margin=Margin()),))
    needed = []
    for seed in range(5):
        random, state = np.random.default_rng(seed), trials.begin(of)
        treated = 0
        while not verdict(of, state, 0).breaches and treated < 3 * most:
            name = "treat" if random.random() < share else "control"
            treated += name == "treat"
            exposure = Exposure("e", name, str(treated), {"control": 1 - share, "treat": share})
            error = float(random.random() < (rate if name == "treat" else 0.005))
            state = trials.measured(state, of, exposure, {"error": error})
        needed.append(treated)

    assert np.median(needed) <= most


def test_units_that_get_lost_are_found_and_nothing_else_counts_then():
    of = experiment()
    state = seen(of, success={"treat": 0.95}, count=3_000)
    chances = {"control": 0.5, "treat": 0.5}
    for number in range(3_000):
        state = trials.exposed(state, Exposure("e", "control", f"x{number}", chances), fresh=True)

    found = verdict(of, state, 60)

    assert found.outcome == "sample_ratio"
    assert "do not get the units that they should" in found.words


def test_treatments_share_alpha_and_the_best_one_wins():
    three = (Variant("control", 1.0), Variant("a", 1.0, "x"), Variant("b", 1.0, "y"))
    of = experiment(variants=three, watch=())
    state = seen(of, count=6_000, success={"a": 0.9, "b": 0.95})

    assert trials.alpha_of(of) == 0.025
    assert verdict(of, state, 60).variant == "b"


@pytest.mark.parametrize(
    ("standing", "then", "rates", "state", "variant"),
    [
        (Standing(), "ask", {"success": {"treat": 0.9}}, "decided", "treat"),
        (Standing(), "promote", {"success": {"treat": 0.9}}, "promoted", "treat"),
        (Standing(), "promote", {"success": {"treat": 0.6}}, "stopped", "control"),
        (Standing(), "ask", {}, "running", ""),
        (Standing(), "promote", {"error": {"treat": 0.2}}, "stopped", "control"),
        (Standing("held"), "promote", {"success": {"treat": 0.9}}, "held", ""),
        (Standing("held"), "ask", {"error": {"treat": 0.2}}, "stopped", "control"),
        (Standing("decided", "treat"), "ask", {"error": {"treat": 0.2}}, "stopped", "control"),
        (Standing("promoted", "treat"), "ask", {"error": {"treat": 0.2}}, "promoted", "treat"),
        (Standing("stopped", "control"), "promote", {"success": {"treat": 0.9}}, "stopped", "control"),
    ],
)
def test_how_an_experiment_stands_after_a_verdict(standing, then, rates, state, variant):
    of = experiment(then=then)

    found = after(standing, of, verdict(of, seen(of, **rates), 60), now=5.0)

    assert (found.state, found.variant) == (state, variant)
    assert found.forced == (variant if state in ("stopped", "promoted") else "")


def test_a_guardrail_that_holds_stops_verdicts_and_gives_nobody_another_variant():
    of = experiment(watch=(msgspec.structs.replace(RAIL, act="hold"),))

    found = after(Standing(), of, verdict(of, seen(of, error={"treat": 0.2}), 60), now=5.0)

    assert (found.state, found.forced, found.since) == ("held", "", 5.0)


def test_two_gateways_come_to_the_verdict_that_one_would_have_come_to():
    of = experiment()
    parts = [seen(of, seed=seed, count=1_000, success={"treat": 0.9}) for seed in (1, 2)]
    both = trials.merged(*parts)

    assert sum(both.requests.values()) == 2_000
    assert verdict(of, both, 60).outcome == "winner"
    assert trials.merged(trials.begin(of), parts[0]).requests == parts[0].requests
    assert msgspec.json.decode(msgspec.json.encode(both), type=Trial) == both


def test_other_weights_are_the_same_experiment_and_other_changes_are_another():
    of = experiment()

    ramped = msgspec.structs.replace(of, variants=(Variant("control", 9.0), Variant("treat", 1.0, "x")))
    assert print_of(ramped) == print_of(of)
    for other in (
        msgspec.structs.replace(of, salt="2"),
        msgspec.structs.replace(of, variants=(Variant("control", 1.0), Variant("treat", 1.0, "y"))),
        msgspec.structs.replace(of, primary=MEASURED["error_rate"]),
        msgspec.structs.replace(of, watch=()),
    ):
        assert print_of(other) != print_of(of)


def test_every_metric_has_a_name_of_its_own_and_times_have_quantiles():
    assert all(metric_of(name) is not None for name in NAMES)
    assert metric_of("ttft.p99.9").quantile == 0.999
    assert [metric_of(name) for name in ("ttft.p0", "ttft.p100", "error_rate.p50", "")] == [None] * 4


def test_more_units_are_needed_for_less_and_for_uneven_shares():
    wide = units_needed(0.03, 0.28, (0.5, 0.5), 0.05)

    assert wide is not None
    assert wide < units_needed(0.03, 0.28, (0.05, 0.95), 0.05) < units_needed(0.01, 0.28, (0.05, 0.95), 0.05)
    assert units_needed(1e-9, 0.28, (0.5, 0.5), 0.05) is None
