"""The examples that a file carries: decided as live requests are, before the policy is used."""

from collections.abc import Callable

import msgspec

from policies.decide import decide
from policies.decision import Decision, Reject
from policies.escalate.stuck import Stuck
from policies.estimates import Estimate
from policies.facts import AUTO, Ability, Facts
from policies.field import matching_route
from policies.language.sections.examples import Expect, Given, TestEntry
from policies.policy import Policy
from policies.snapshot import ReplicaState, Snapshot

Estimator = Callable[[tuple[str, ...]], Estimate]
"""The user's turns, oldest first → how hard they are."""

CHARACTERS_PER_TOKEN = 3
"""Errs high for English; a test that depends on the length states it."""

NO_TEXT = Estimate(abstains="the test gives no text")


class Verdict(msgspec.Struct, frozen=True):
    """`failed` says what came instead, or ""; `untested` that there was no estimator to ask."""

    failed: str = ""
    untested: bool = False


def run_test(policy: Policy, test: TestEntry, estimator: Estimator | None) -> Verdict:
    """Decide what the test gives and compare with what it expects."""
    facts, turns = facts_of(test.given), turns_of(test.given)
    route = matching_route(policy, facts)
    needs_estimate = route is not None and route.choose is not None and bool(turns)
    if needs_estimate and estimator is None and (test.expect.model or test.expect.model_in):
        return Verdict(untested=True)
    estimate = estimator(turns) if needs_estimate and estimator is not None else NO_TEXT
    return Verdict(difference(test.expect, decide(policy, facts, estimate, world(policy, test.given))))


def difference(expect: Expect, decision: Decision) -> str:
    """What differs from the expectation, with the reason that deciding gave; or ""."""
    choice = decision.choice
    model = f"nobody ({choice.code})" if isinstance(choice, Reject) else choice.model
    wanted = [expect.model] if expect.model else expect.model_in
    if wanted and model not in wanted:
        return f"expected model {' or '.join(wanted)}, got {model}: {decision.reason}"
    if expect.route and expect.route != decision.route:
        return f"expected route {expect.route}, got {decision.route or 'none'}: {decision.reason}"
    return ""


def turns_of(given: Given) -> tuple[str, ...]:
    """What the user said."""
    return tuple(given.turns or ()) or ((given.text,) if given.text is not None else ())


def facts_of(given: Given) -> Facts:
    """The request in a few words, as facts."""
    turns = turns_of(given)
    abilities: tuple[tuple[Ability, int | None], ...] = (("tools", given.tools), ("vision", given.images))
    return Facts(
        requested=given.model or AUTO,
        prompt_tokens=given.prompt_tokens or sum(map(len, turns)) // CHARACTERS_PER_TOKEN + 1,
        needs=frozenset(ability for ability, count in abilities if count),
        stream=bool(given.stream),
        tools=given.tools or 0,
        images=given.images or 0,
        user_turns=max(1, len(turns)),
        tenant=given.tenant or Facts().tenant,
        plan=given.plan or "",
        escalated_to=given.escalated_to or "",
        stuck=Stuck(turns=given.stuck or 0, most=given.stuck or 0, failed=given.stuck or 0),
        headers={key.removeprefix("header."): values[0] for key, values in given.headers.items()},
    )


def world(policy: Policy, given: Given) -> Snapshot:
    """Every replica idle, and ready unless its model is said to be down; every budget whole, unless it is said to be spent."""
    down = frozenset(given.down or ())
    return Snapshot(
        replicas={
            name: tuple(
                ReplicaState(replica=replica, ready=name not in down, why_not="down in this test" * (name in down))
                for replica in model.replicas or (f"found:{name}",)
            )
            for name, model in policy.models.items()
        },
        budgets=dict.fromkeys(given.spent or (), 0),
    )
