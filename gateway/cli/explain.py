"""`turnout explain`: what a policy would do with a request, and why."""

import time
from typing import Annotated

import msgspec
import typer

from gateway.cli.policy import PolicyArgument, amount_of, dollars, opened
from gateway.cli.terminal import say, show_table
from policies.budgets.afford import of
from policies.decide import decide
from policies.decision import Call, Decision, Reject
from policies.estimates import Estimate
from policies.explain import Row, held_back, raced, told_by, unheeded
from policies.explain import explain as explain_rows
from policies.language.own_tests import facts_of, turns_of, world
from policies.language.sections.examples import Given
from policies.unsettled import unsettled

REFUSED = 1
"""The exit code of `explain` where the request would be turned away."""


def explain(
    policy: PolicyArgument,
    text: Annotated[list[str], typer.Option("--text", help="what the user says; again for a later turn")],
    model: Annotated[str, typer.Option(help="the model that the client names")] = "auto",
    tenant: Annotated[str | None, typer.Option(help="who pays")] = None,
    plan: Annotated[str | None, typer.Option(help="what they bought")] = None,
    prompt_tokens: Annotated[int | None, typer.Option(help="length of the prompt (default: estimated)")] = None,
    tools: Annotated[int | None, typer.Option(help="number of tools")] = None,
    images: Annotated[int | None, typer.Option(help="number of images")] = None,
    stream: Annotated[bool, typer.Option("--stream", help="the answer is streamed")] = False,
    down: Annotated[list[str] | None, typer.Option(help="a model that cannot be reached; again for more")] = None,
    spent: Annotated[list[str] | None, typer.Option(help="a budget that has nothing left; again for more")] = None,
) -> None:
    """Decide on a request without sending it: the estimate, every candidate with its expected cost, and the reasons.

    Exit code 1 when nobody may answer, 2 when the policy has problems.
    """
    told = {"turns": text, "model": model, "tenant": tenant, "tenant.plan": plan, "prompt_tokens": prompt_tokens}
    told |= {"tools": tools, "images": images, "stream": stream, "down": down or None, "spent": spent or None}
    given = Given.model_validate({key: value for key, value in told.items() if value is not None})
    with opened(policy) as found:
        facts = facts_of(given)
        seen = msgspec.structs.replace(world(found.policy, given), now=time.time())
        estimate = found.reader.estimate(turns_of(given), lambda span: unsettled(found.policy, facts, span, seen))
        decision = decide(found.policy, facts, estimate, seen)
    _show(decision, estimate)
    if found.policy.budgets and isinstance(decision.choice, Call):
        use = of(found.policy, decision, facts)
        aside = [(budget.name, budget.told, amount_of(budget, use.of(budget))) for budget in found.policy.budgets]
        show_table("budgets", ("budget", "limit", "set aside"), aside)
    if isinstance(decision.choice, Reject):
        raise typer.Exit(REFUSED)


def _show(decision: Decision, estimate: Estimate) -> None:
    if estimate.p_good:
        chances = ", ".join(f"{head} {p:.3f}" for head, p in estimate.p_good.items())
        say(f"estimate: P(good) {chances} (artefact {estimate.artefact})")
        if told := told_by(estimate):
            say(f"stage: {told}")
    else:
        say(f"no estimate: {estimate.abstains}")
    if estimate.language:
        say(f"language: {estimate.language}")
    if decision.line is not None:
        say(f"line: a bad answer may cost {decision.line.loss:.3f} times what the target's model charges")
    rows = explain_rows(decision)
    show_table(
        f"candidates of route {decision.route}", ("model", "replica", "standing", "expected cost"), map(_standing, rows)
    )
    terms = [
        (row.model, row.replica, term.name, dollars(term.microusd), term.why) for row in rows for term in row.terms
    ]
    if terms:
        show_table("what the cost is made of", ("model", "replica", "term", "cost", "why"), terms)
    if held := held_back(decision):
        say(held)
    for told in (raced(decision), unheeded(decision)):
        if told:
            say(told)
    choice = decision.choice
    answer = f"refused: {choice.code}: {choice.message}" if isinstance(choice, Reject) else choice.model
    show_table(f"decision (policy {decision.policy_hash})", ("answers", "reason"), [(answer, decision.reason)])


def _standing(row: Row) -> tuple[str, str, str, str]:
    cost = row.why if row.microusd is None else dollars(row.microusd)
    return row.model, row.replica, row.standing, cost
