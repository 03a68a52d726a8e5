"""No credential reaches the disk, wherever a caller put one."""

from collections.abc import Iterator

import msgspec

from gateway.decisions.record import DecisionRecord
from gateway.telemetry.redact import Redactor

CREDENTIALS = frozenset({"authorization", "proxy-authorization", "x-api-key", "api-key", "cookie"})
"""Headers whose value is never kept, also where routes look at them."""

GONE = "***"


def cleaned(record: DecisionRecord, redactor: Redactor) -> DecisionRecord:
    """The same record where nothing is to be hidden. Else every text of it passes the redactor, and it is marked: what was
    decided on is not all there any more; nor are its numbers, which may hold what was taken out."""
    secret_headers = CREDENTIALS & record.facts.headers.keys()
    if not secret_headers and all(redactor.clean(text) == text for text in from_outside(record)):
        return record
    plain = washed(msgspec.to_builtins(msgspec.structs.replace(record, numbers=None)), redactor)
    found = msgspec.convert(plain, DecisionRecord)
    headers = {**found.facts.headers, **dict.fromkeys(secret_headers, GONE)}
    facts = msgspec.structs.replace(found.facts, headers=headers)
    return msgspec.structs.replace(found, facts=facts, cleaned=True)


def from_outside(record: DecisionRecord) -> Iterator[str]:
    """The texts that others than this process and its policy have written."""
    facts = record.facts
    yield from (facts.requested, facts.tenant, facts.plan, record.outcome.error_code, record.outcome.reason)
    yield from facts.headers.values()
    for states in record.snapshot.replicas.values():
        yield from [state.why_not for state in states if state.why_not]


def washed(value: object, redactor: Redactor) -> object:
    """Plain data with every text in it cleaned; the names of fields are ours."""
    if isinstance(value, str):
        return redactor.clean(value)
    if isinstance(value, dict):
        return {key: washed(part, redactor) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [washed(part, redactor) for part in value]
    return value
