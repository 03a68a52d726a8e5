"""A rollout as a pure fold: what lets it climb, what holds it and what takes it back; and who is in it."""

from itertools import pairwise

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.experiments import rollout
from policies.experiments.assign import assign
from policies.experiments.breaches import Breach
from policies.experiments.plan import CANARY, CONTROL, Act, CompareWith, Experiment, Step, Variant
from policies.experiments.standing import Standing
from policies.experiments.verdict import Verdict

HOUR = 3_600.0

STEPS = (
    Step(0.01, for_s=HOUR, samples=200),
    Step(0.05, samples=1_000),
    Step(approve="oncall"),
    Step(0.75, for_s=HOUR),
    Step(1.0, for_s=24 * HOUR),
)


def experiment(*steps: Step) -> Experiment:
    return Experiment(
        name="next",
        unit="user",
        layer="rollout next",
        salt="",
        variants=(Variant(CONTROL, 1.0), Variant(CANARY, 1.0, "sets")),
        routes=frozenset({"default"}),
        ends=0.0,
        steps=steps or STEPS,
    )


NEXT = experiment()


def said(outcome: str = "running", act: Act | None = None) -> Verdict:
    breaches = () if act is None else (Breach(variant=CANARY, guardrail="g", act=act, p=0.001, words="broken"),)
    return Verdict(
        experiment="next",
        outcome="breach" if act else outcome,  # type: ignore[arg-type]
        variant="",
        words="broken" if act else outcome,
        findings=(),
        breaches=breaches,
        sample_ratio_p=1.0,
    )


FINE = said()


def climbed(standing: Standing, canaries: int, now: float, found: Verdict = FINE) -> Standing:
    return rollout.climb(standing, NEXT, found, canaries, now)


def test_a_step_is_over_when_its_time_and_its_requests_are() -> None:
    first = rollout.begun(NEXT, 100.0)

    assert climbed(first, 5_000, 100 + HOUR - 1) == first
    assert climbed(first, 199, 100 + 9 * HOUR) == first
    second = climbed(first, 230, 100 + HOUR)
    assert (second.step, second.since, second.seen, rollout.share_of(second)) == (1, 100 + HOUR, 230, 0.05)
    assert climbed(second, 1_229, 1e9) == second
    assert climbed(second, 1_230, 100 + HOUR).state == "waiting"


def test_it_waits_for_a_person_with_the_share_that_it_has_and_is_done_after_its_last_step() -> None:
    waiting = climbed(climbed(rollout.begun(NEXT, 0.0), 200, HOUR), 1_200, HOUR)
    assert (waiting.state, waiting.why, rollout.share_of(waiting)) == ("waiting", "for oncall", 0.05)
    assert climbed(waiting, 10**6, 1e9) == waiting

    further = rollout.approved(waiting, NEXT, 1_300, 2 * HOUR)
    assert (further.step, rollout.share_of(further)) == (3, 0.75)
    assert rollout.approved(further, NEXT, 1_300, 2 * HOUR) == further
    last = climbed(further, 1_300, 3 * HOUR)
    done = climbed(last, 1_300, 27 * HOUR)
    assert (rollout.share_of(last), last.forced, done.state, done.forced) == (0.99, "", "promoted", CANARY)
    assert rollout.share_of(done) == 1.0
    assert climbed(done, 1, 1e9, said(act="roll_back")) == done


GOING = st.sampled_from([rollout.begun(NEXT, 0.0), climbed(rollout.begun(NEXT, 0.0), 200, HOUR)])


@given(GOING, st.integers(0, 10**6), st.floats(0, 1e9))
def test_a_broken_guardrail_gives_everybody_control_whatever_else_is_so(
    standing: Standing, canaries: int, now: float
) -> None:
    for state in ("running", "waiting", "held"):
        found = climbed(msgspec.structs.replace(standing, state=state), canaries, now, said(act="roll_back"))
        assert (found.state, found.forced, found.why, rollout.share_of(found)) == ("stopped", CONTROL, "broken", 0.0)
        assert climbed(found, canaries, now) == found


@pytest.mark.parametrize("found", [said(act="hold"), said("sample_ratio")])
def test_what_is_only_held_keeps_its_share_and_goes_no_further_until_a_person_says_so(found: Verdict) -> None:
    first = rollout.begun(NEXT, 0.0)
    held = climbed(first, 900, 2 * HOUR, found)

    assert (held.state, held.since, rollout.share_of(held)) == ("held", 2 * HOUR, 0.01)
    assert climbed(held, 900, 9 * HOUR) == held
    assert rollout.approved(held, NEXT, 900, 9 * HOUR) == held
    again = rollout.resumed(held, NEXT, 9 * HOUR)
    assert (again.state, again.step, again.since, again.seen, again.round) == ("running", 0, 9 * HOUR, 0, 1)


def test_what_was_rolled_back_is_tried_again_from_its_first_step_and_what_is_done_can_be_taken_back() -> None:
    second = climbed(rollout.begun(NEXT, 0.0), 200, HOUR)
    back = rollout.aborted(second, 2 * HOUR)
    again = rollout.resumed(back, NEXT, 3 * HOUR)

    assert (back.state, back.forced, back.why) == ("stopped", CONTROL, "aborted by a person")
    assert (again.state, again.step, again.round, rollout.share_of(again)) == ("running", 0, 1, 0.01)
    done = Standing("promoted", CANARY)
    assert rollout.aborted(done, 1.0).forced == CONTROL
    assert rollout.resumed(second, NEXT, 1.0) == second


SHARES = st.lists(st.sampled_from([i / 100 for i in range(1, 101)]), min_size=1, max_size=6, unique=True).map(sorted)


@settings(max_examples=30)
@given(SHARES, st.sampled_from(["matched", "rest"]))
def test_whoever_has_the_change_keeps_it_at_every_further_step(shares: list[float], compare_with: CompareWith) -> None:
    ramp: rollout.Ramp = ()
    held: list[set[str]] = []
    control: list[set[str]] = []
    for share in shares:
        ramp = rollout.ramped_to(ramp, share, compare_with)
        found = [assign(NEXT.ramped(ramp), f"unit-{number}") for number in range(200)]
        held.append({one.unit for one in found if one is not None and one.variant == CANARY})
        control.append({one.unit for one in found if one is not None and one.variant == CONTROL})

    assert all(before <= after for before, after in pairwise(held))
    for share, mine, theirs in zip(shares, held, control, strict=True):
        rest = max(0.01, 1 - share)
        assert abs(len(mine) - 200 * min(0.99, share)) <= 45
        assert abs(len(theirs) - 200 * (min(share, rest) if compare_with == "matched" else rest)) <= 45


def test_up_to_half_of_the_units_both_are_equally_likely_and_nobody_else_takes_part() -> None:
    found = NEXT.ramped(rollout.ramped_to((), 0.05))

    assert (found.ends, found.weights) == (0.1, {CONTROL: 0.05, CANARY: 0.05})
    assert {one.propensity for one in (assign(found, f"u{n}") for n in range(200)) if one is not None} == {0.5}
    assert assign(NEXT.ramped(()), "u") is None


def test_control_before_half_of_the_units_is_control_until_it_has_to_give_way() -> None:
    ramp: rollout.Ramp = ()
    controls = []
    for share in (0.1, 0.4, 0.5):
        ramp = rollout.ramped_to(ramp, share)
        found = [assign(NEXT.ramped(ramp), f"unit-{number}") for number in range(400)]
        controls.append({one.unit for one in found if one is not None and one.variant == CONTROL})

    assert controls[0] <= controls[1] <= controls[2]
    assert len(ramp) == 1


STANDINGS = st.builds(
    Standing,
    state=st.sampled_from(["running", "waiting", "held", "stopped", "promoted"]),
    since=st.sampled_from([0.0, 1.0, 2.0]),
    step=st.integers(0, 3),
    round=st.integers(0, 2),
)


@given(st.lists(STANDINGS, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_gateways_come_to_the_same_whatever_they_hear_first(told, random) -> None:
    """Only what ranks matters; two that rank alike are the same step entered at the same instant."""
    shuffled = random.sample(told, len(told))

    assert rollout.rank(max(told, key=rollout.rank)) == rollout.rank(max(shuffled, key=rollout.rank))


def test_a_rollback_goes_before_a_step_and_a_persons_word_before_both() -> None:
    step = Standing("running", since=9.0, step=3)
    back = Standing("stopped", CONTROL, since=5.0, step=2)
    again = Standing("running", since=20.0, step=0, round=1)

    assert rollout.rank(again) > rollout.rank(back) > rollout.rank(Standing("held", since=9.0)) > rollout.rank(step)
    assert rollout.rank(Standing("running", since=1.0, step=3)) > rollout.rank(step)


def test_other_steps_go_on_from_the_share_that_was_reached() -> None:
    second = climbed(rollout.begun(NEXT, 0.0), 200, HOUR)
    finer = experiment(Step(0.01, for_s=1), Step(0.02, for_s=1), Step(0.08, for_s=1), Step(0.5, for_s=1))
    smaller = experiment(Step(0.001, for_s=1), Step(0.002, for_s=1))

    assert (rollout.restepped(second, finer, 9.0).step, rollout.share_of(rollout.restepped(second, finer, 9.0))) == (
        2,
        0.08,
    )
    assert rollout.share_of(rollout.restepped(second, smaller, 9.0)) == 0.002
    back = rollout.aborted(second, 5.0)
    assert rollout.restepped(back, smaller, 9.0).forced == CONTROL


@pytest.mark.parametrize(
    ("standing", "words"),
    [
        (
            rollout.begun(NEXT, 0.0),
            "at step 1 of 5, 1% of the units have the change; the next one wants another 50 min and 190 more requests of the "
            "canary",
        ),
        (
            Standing("waiting", "", "for oncall", 0.0, (rollout.weights_at(0.05),), 2),
            "at step 3 of 5, 5% of the units have the change; it waits for oncall",
        ),
        (
            Standing("held", "", "cost", 0.0, (rollout.weights_at(0.05),), 1),
            "held at step 2 of 5, 5% of the units have the change: cost",
        ),
        (Standing("stopped", CONTROL, "errors"), "rolled back, nobody has the change: errors"),
        (
            Standing("promoted", CANARY, "every step is done"),
            "done, everybody has the change: every step is done; write it into the policy file and take the rollout out",
        ),
    ],
)
def test_how_it_stands_is_told_in_words(standing: Standing, words: str) -> None:
    assert rollout.told(standing, NEXT, 10, 600.0) == words


SHADOWED = experiment(Step(shadow=0.05, pairs=500), Step(approve="oncall"), Step(0.05, samples=100))


def test_a_shadow_is_a_step_that_gives_nobody_the_change_and_is_over_when_its_pairs_are() -> None:
    first = rollout.begun(SHADOWED, 100.0)

    assert (first.state, first.ramp, rollout.share_of(first)) == ("running", (), 0.0)
    assert rollout.shadowed(first, SHADOWED) == 0.05
    assert rollout.told(first, SHADOWED, 20, 101.0) == (
        "at step 1 of 3, nobody has the change, and 5% of the requests are asked by it as well; the next one wants 480 more "
        "pairs of its shadow"
    )
    assert rollout.climb(first, SHADOWED, FINE, 499, 1e9) == first
    waiting = rollout.climb(first, SHADOWED, FINE, 505, 200.0)
    assert (waiting.state, rollout.shadowed(waiting, SHADOWED), rollout.share_of(waiting)) == ("waiting", 0.0, 0.0)
    live = rollout.approved(waiting, SHADOWED, 505, 300.0)
    assert (live.step, live.seen, rollout.share_of(live)) == (2, 505, 0.05)
    assert rollout.climb(live, SHADOWED, FINE, 604, 1e9) == live
    assert rollout.climb(live, SHADOWED, FINE, 605, 400.0).state == "promoted"


def test_a_shadow_that_is_worse_is_held_and_goes_on_where_it_was() -> None:
    first = rollout.begun(SHADOWED, 0.0)
    held = rollout.climb(first, SHADOWED, said(act="hold"), 30, 5.0)

    assert (held.state, rollout.shadowed(held, SHADOWED), rollout.share_of(held)) == ("held", 0.0, 0.0)
    again = rollout.resumed(held, SHADOWED, 9.0)
    assert (again.state, again.step, again.round, rollout.shadowed(again, SHADOWED)) == ("running", 0, 1, 0.05)
    assert rollout.aborted(first, 9.0).forced == CONTROL
