"""What /v1/route tells a person who asks for text: who would answer and why, and where every other model stands."""

from collections.abc import Iterator

from gateway.request.told import variants_of
from policies.decision import Decision, Reject
from policies.estimates import Estimate
from policies.explain import Row, explain, raced, told_by, unheeded

INDENT = "  "


def route_text(decision: Decision, estimate: Estimate) -> str:
    """Lines of plain text.

    >>> from policies.decision import Call
    >>> one = Decision(steps=(Call("small", "http://s"),), route="default", reason="small: easy", policy_hash="0123")
    >>> print(route_text(one, Estimate(abstains="the request names its model")))
    answer    small at http://s
    why       small: easy
    route     default (policy 0123)
    estimate  none: the request names its model
    """
    return "\n".join([*_head(decision), *_estimated(decision, estimate), *_rows(decision)])


def _head(decision: Decision) -> Iterator[str]:
    choice = decision.choice
    if isinstance(choice, Reject):
        yield f"refused   {choice.code}"
    else:
        yield f"answer    {choice.model} at {choice.replica}"
    yield f"why       {decision.reason}"
    yield f"route     {decision.route or 'none'} (policy {decision.policy_hash})"
    if told := raced(decision):
        yield f"hedge     {told}"
    if told := unheeded(decision):
        yield f"thinking  {told}"
    if decision.assignments:
        yield f"variant   {variants_of(decision)}"


def _estimated(decision: Decision, estimate: Estimate) -> Iterator[str]:
    if estimate.abstains:
        yield f"estimate  none: {estimate.abstains}"
    else:
        chances = ", ".join(f"{head} {p:.3f}" for head, p in estimate.p_good.items())
        yield f"estimate  P(good) {chances} (artefact {estimate.artefact}, {estimate.took_us / 1000:.1f} ms)"
        if told := told_by(estimate):
            yield f"stage     {told}"
    if estimate.language:
        yield f"language  {estimate.language}"
    if decision.line is not None:
        yield f"line      a bad answer may cost {decision.line.loss:.3f} times what the target's model charges"


def _rows(decision: Decision) -> Iterator[str]:
    for row in explain(decision):
        yield f"{INDENT}{row.standing:<18} {_stands(row)}"
        for term in row.terms:
            yield f"{INDENT * 2}{term.name:<16} {term.microusd:>10} microusd: {term.why}"


def _stands(row: Row) -> str:
    where = f"{row.model} at {row.replica}" if row.replica else row.model
    return f"{where}: {row.why}" if row.microusd is None else f"{where}: {row.microusd} microusd expected"
