"""What is written on spans, as plain mappings. Free text passes the redactor."""

from collections.abc import Sequence
from functools import lru_cache
from urllib.parse import urlsplit

from backends.messages import Usage
from gateway.request.settlement import Settlement
from gateway.telemetry import names
from gateway.telemetry.outcome import outcome
from gateway.telemetry.redact import Redactor
from policies.decision import Call, Decision, Dropped, Reject
from policies.estimates import Estimate
from policies.experiments.plan import Assignment
from policies.facts import Facts

Value = str | int | float | bool | Sequence[str]

PROVIDERS = {"openai_chat": "openai", "anthropic": "anthropic"}
"""By the dialect of a model's servers."""

IN_PROCESS = "in-process:"
"""How the names of engines in this process begin."""

MOST_DROPPED = 32
"""Dropped candidates that are listed."""


def decided(
    facts: Facts, decision: Decision, estimate: Estimate | None, decision_us: int | None, redactor: Redactor
) -> dict[str, Value]:
    known: dict[str, Value] = {
        names.ROUTE_NAME: decision.route,
        names.POLICY_HASH: decision.policy_hash,
        names.REQUESTED_MODEL: redactor.clean(facts.requested),
        names.PROMPT_TOKENS: facts.prompt_tokens,
        names.CANDIDATES: len(decision.candidates),
        names.DROPPED: [redactor.clean(_dropped(dropped)) for dropped in decision.dropped[:MOST_DROPPED]],
        names.REASON: redactor.clean(decision.reason),
    }
    if decision_us is not None:
        known[names.DECISION_US] = decision_us
    if decision.hedge is not None:
        known[names.HEDGE_AFTER_S] = decision.hedge.after_s
    if decision.artefact:
        known[names.ARTEFACT] = decision.artefact
    if decision.line is not None:
        known[names.LINE_LOSS] = decision.line.loss
    if decision.propensity:
        known |= {names.INSTEAD_OF: decision.instead_of, names.EXPLORE_PROPENSITY: decision.probability}
    return known | _chosen(decision.choice, redactor) | _estimated(estimate) | _remembered(facts)


def _remembered(facts: Facts) -> dict[str, Value]:
    """What earlier turns of the conversation say."""
    words = {names.ESCALATED_TO: facts.escalated_to, names.WAS_ON: facts.was_on}
    known: dict[str, Value] = {name: word for name, word in words.items() if word}
    return known | ({names.STUCK_TURNS: facts.stuck.turns} if facts.stuck.turns else {})


def assigned(found: Assignment) -> dict[str, Value]:
    """One evaluation of a feature flag. The unit is a digest already."""
    return {
        names.FLAG_KEY: found.experiment,
        names.FLAG_PROVIDER: "turnout",
        names.FLAG_VARIANT: found.variant,
        names.FLAG_REASON: "split" if found.unit else "static",
        names.FLAG_CONTEXT: found.unit,
        names.PROPENSITY: found.propensity,
    }


def _dropped(dropped: Dropped) -> str:
    where = f"{dropped.model} at {dropped.replica}" if dropped.replica else dropped.model
    return f"{where}: {dropped.filter}: {dropped.reason}"


def _chosen(choice: Call | Reject, redactor: Redactor) -> dict[str, Value]:
    if isinstance(choice, Reject):
        return {names.REJECT_CODE: choice.code}
    return {names.CHOSEN_MODEL: choice.model, names.CHOSEN_REPLICA: redactor.clean(choice.replica)}


def _estimated(estimate: Estimate | None) -> dict[str, Value]:
    if estimate is None:
        return {}
    told: dict[str, Value] = {names.LANGUAGE: estimate.language} if estimate.language else {}
    if estimate.abstains:
        return {names.ABSTAINS: estimate.abstains, names.ESTIMATE_US: estimate.took_us, **told}
    p_good = [f"p_good({head})={p:.3f}" for head, p in estimate.p_good.items()]
    if estimate.stage:
        told[names.STAGE] = estimate.stage
    return {names.DIFFICULTY: p_good, names.ESTIMATE_US: estimate.took_us, **told}


def asked(call: Call, stream: bool, redactor: Redactor, *, operation: str, provider: str) -> dict[str, Value]:
    known: dict[str, Value] = {
        names.OPERATION: operation,
        names.PROVIDER: provider,
        names.REQUEST_MODEL: call.model,
        names.REQUEST_STREAM: stream,
        names.REPLICA: redactor.clean(call.replica),
    }
    return known | _address(call.replica)


def provider_of(call: Call, dialect: str) -> str:
    """Whose API is asked; conventions want this where nothing better is known.

    >>> provider_of(Call("m", "http://h/v1"), "anthropic"), provider_of(Call("m", "in-process:m"), "openai_chat")
    ('anthropic', 'turnout')
    """
    return "turnout" if is_local(call) else PROVIDERS.get(dialect, "openai")


def is_local(call: Call) -> bool:
    """Whether an engine in this process answers."""
    return call.replica.startswith(IN_PROCESS)


@lru_cache(maxsize=512)
def _address(replica: str) -> dict[str, Value]:
    if replica.startswith(IN_PROCESS):
        return {}
    try:
        url = urlsplit(replica)
        port = url.port or {"https": 443}.get(url.scheme, 80)
    except ValueError:  # not a URL that we can read; observing never raises
        return {}
    return {names.SERVER_ADDRESS: url.hostname or "", names.SERVER_PORT: port}


def answered(error_kind: str, usage: Usage | None) -> dict[str, Value]:
    ended: dict[str, Value] = {names.OUTCOME: "ok"}
    if error_kind == "cancelled":
        ended = {names.OUTCOME: "cancelled"}
    elif error_kind:
        ended = {names.OUTCOME: "error", names.ERROR_TYPE: error_kind}
    return ended | _used(usage)


def settled(settlement: Settlement, redactor: Redactor) -> dict[str, Value]:
    known: dict[str, Value] = {
        names.HTTP_STATUS: settlement.status,
        names.TENANT: redactor.clean(settlement.tenant),
        names.DIALECT: settlement.dialect,
        names.OUTCOME: outcome(settlement),
        names.END: settlement.end,
        names.ATTEMPTS: settlement.attempts,
        names.SPEND_MICROUSD: settlement.microusd,
    }
    if settlement.answered_by is not None:
        known[names.RESPONSE_MODEL] = settlement.answered_by.model
    if settlement.reason:
        known[names.REASON] = redactor.clean(settlement.reason)
    if settlement.ttft_ms is not None:
        known[names.TTFT_MS] = settlement.ttft_ms
    if settlement.unretried:
        known[names.RETRY_WITHHELD] = True
    if settlement.error_code:
        known[names.ERROR_TYPE] = redactor.clean(settlement.error_code)
    return known | _used(settlement.usage) | judged(settlement)


def judged(settlement: Settlement) -> dict[str, Value]:
    """Of an answer that was held back, if it was judged."""
    if not settlement.judgement or settlement.p_correct is None:
        return {}
    known: dict[str, Value] = {names.JUDGEMENT: settlement.judgement, names.P_CORRECT: round(settlement.p_correct, 3)}
    if settlement.weighed_as:
        known[names.WEIGHED_AS] = settlement.weighed_as
    if settlement.abandoned_by is not None:
        used = settlement.abandoned
        known[names.ABANDONED_MODEL] = settlement.abandoned_by.model
        known[names.ABANDONED_TOKENS] = used.completion_tokens if used else 0
        known[names.ABANDONED_MICROUSD] = settlement.abandoned_microusd
    return known


def _used(usage: Usage | None) -> dict[str, Value]:
    if usage is None:
        return {}
    return {
        names.INPUT_TOKENS: usage.prompt_tokens,
        names.OUTPUT_TOKENS: usage.completion_tokens,
        names.CACHE_READ_TOKENS: usage.cached_tokens,
        **({names.CACHE_WRITE_TOKENS: usage.written_tokens} if usage.written_tokens else {}),
        **({names.REASONING_TOKENS: usage.reasoning_tokens} if usage.reasoning_tokens else {}),
    }
