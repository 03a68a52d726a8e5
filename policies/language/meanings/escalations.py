"""`escalations:` as deciding uses them, and what a file may say of them that makes no sense."""

from collections.abc import Callable, Iterator, Mapping
from typing import get_args

from policies.catalogue import Model
from policies.escalate.plan import Escalation, Moves, Signal, Weights
from policies.escalate.prior import PRIOR
from policies.language.draft import Draft
from policies.language.faults import did_you_mean
from policies.language.meanings.inherit import inherited
from policies.language.problem import Problem
from policies.language.schema import PolicyFile
from policies.language.sections import escalations as sections
from policies.language.sections.escalations import EscalationEntry
from policies.language.sections.routes import RouteEntry
from policies.language.tree import Path
from policies.policy import REQUESTED

Weigh = Callable[[str], Mapping[str, Weights]]
"""Fitted weights by model, from a file. Raises OSError or ValueError where there are none."""

OF_JUDGING = frozenset({"signals", "hold_back", "start_early", "at_most", "second_opinion", "weights"})
"""What an escalation may say only where it judges answers."""

ALL_SIGNALS: frozenset[Signal] = frozenset(get_args(Signal))


def compile_escalations(
    draft: Draft, models: Mapping[str, Model], weigh: Weigh
) -> tuple[dict[str, Escalation], list[Problem]]:
    """The escalations, and what is wrong with the weights that they name."""
    asked = frozenset(name for name in models if tells_logprobs(draft.file, name))
    compiled: dict[str, Escalation] = {}
    problems: list[Problem] = []
    for name, entry in draft.file.escalations.items():
        try:
            fitted = {} if entry.weights == sections.PRIOR else weigh(entry.weights)
        except (OSError, ValueError) as error:
            problems.append(draft.at_value(("escalations", name, "weights"), f"cannot be used: {error}"))
            continue
        moves = entry.moves or ("answer" if draft.file.conversations.may_move == "freely" else "conversation")
        compiled[name] = _escalation(name, entry, asked, {"": PRIOR, **fitted}, moves)
    return compiled, problems


def no_weights(path: str) -> Mapping[str, Weights]:
    """For readers that have no files."""
    raise ValueError(f"{path} cannot be read here")


def tells_logprobs(file: PolicyFile, name: str) -> bool:
    """An engine of this process does. A server is asked for them only where the file says that it can: one that cannot would
    refuse the request."""
    entry = inherited(file.models, name)
    return entry.run is not None if entry.can is None else "logprobs" in entry.can


def escalation_names(draft: Draft) -> Iterator[Problem]:
    """Models and escalations that are named but not declared."""
    known = draft.escalations
    for name, entry in draft.file.escalations.items():
        for key, model in (("to", entry.to), ("second_opinion", entry.second_opinion)):
            if model is not None:
                yield from draft.undeclared(("escalations", name, key), model)
    for i, route in enumerate(draft.file.routes):
        if route.escalate is not None and route.escalate not in known:
            told = f"names the escalation {route.escalate}, which is not declared{did_you_mean(route.escalate, known)}"
            yield draft.at_value(("routes", i, "escalate"), told)


def escalation_meaning(draft: Draft) -> Iterator[Problem]:
    """Escalations that nothing ever comes to, and signals that nobody shows."""
    used = {route.escalate for route in draft.file.routes}
    for name, entry in draft.file.escalations.items():
        if entry.second_opinion == entry.to:
            yield draft.at_value(
                ("escalations", name, "second_opinion"), f"is {entry.to} itself, which would answer anyway"
            )
        early = entry.start_early
        judged = entry.when.p_correct
        if judged is None:
            for key in sorted(entry.model_fields_set & OF_JUDGING):
                yield draft.at_key(("escalations", name, key), "has no answer to judge; add p_correct to when")
        elif early is not None and early.under < judged.under:
            told = "is below the chance that escalates; an early start has to come earlier"
            yield draft.at_value(("escalations", name, "start_early", "under"), told)
        if entry.moves == "conversation" and draft.file.conversations.may_move == "freely":
            told = "is conversation, and conversations.may_move is freely: state one of the two"
            yield draft.at_value(("escalations", name, "moves"), told)
        if entry.signals is not None and "agreement" in entry.signals and entry.second_opinion is None:
            yield draft.at_key(("escalations", name, "signals"), "asks for agreement; add second_opinion: MODEL")
        if name not in used:
            told = f"is used by no route; add escalate: {name} to one, or remove it"
            yield draft.at_key(("escalations", name), told)
    for i, route in enumerate(draft.file.routes):
        if route.escalate is not None:
            yield from _route(draft, ("routes", i, "escalate"), route, draft.file.escalations[route.escalate])


def _route(draft: Draft, here: Path, route: RouteEntry, entry: EscalationEntry) -> Iterator[Problem]:
    if route.use == REQUESTED:
        yield draft.at_key(here, "has no use: a model named by the client is always honoured")
        return
    below = judged_by(route, entry.to)
    if not below:
        told = f"goes to {entry.to}, and the route has no lower tier whose answers could be judged"
        yield draft.at_value(here, told)
        return
    mute = [name for name in below if not tells_logprobs(draft.file, name)]
    if entry.signals is not None and "token_quantiles" in entry.signals and len(mute) == len(below):
        told = (
            f"asks for token_quantiles, which {', '.join(mute)} cannot tell; add can: [logprobs] where the server can"
        )
        yield draft.at_key(("escalations", str(route.escalate), "signals"), told)


def judged_by(route: RouteEntry, to: str) -> list[str]:
    """The models of the route below `to`."""
    if route.choose is None:
        return [name for name in (route.use, *(route.fallback or ())) if name is not None and name != to]
    among = route.choose.among
    return among[: among.index(to)] if to in among else list(among)


def _escalation(
    name: str, entry: EscalationEntry, asked: frozenset[str], weights: Mapping[str, Weights], moves: Moves
) -> Escalation:
    return Escalation(
        name=name,
        to=entry.to,
        under=entry.when.p_correct.under if entry.when.p_correct is not None else 0.0,
        stuck_turns=entry.when.stuck.turns if entry.when.stuck is not None else 0,
        signals=ALL_SIGNALS if entry.signals is None else frozenset(entry.signals),
        tokens=entry.hold_back.tokens,
        hold_s=entry.hold_back.at_most,
        at_most=entry.at_most,
        early_under=entry.start_early.under if entry.start_early is not None else 0.0,
        moves=moves,
        second=entry.second_opinion or "",
        weights=weights,
        logprobs_of=asked,
    )
