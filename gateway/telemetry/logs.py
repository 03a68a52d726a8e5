"""One structured line for each request, written when it is over."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal, TextIO

import msgspec

from gateway.request.settlement import Settlement
from gateway.telemetry import budgets
from gateway.telemetry.outcome import outcome
from gateway.telemetry.piped import most_together, write_lines
from gateway.telemetry.redact import Redactor
from policies.decision import Call

Form = Literal["json", "console"]

Field = str | int | float | bool | None

Render = Callable[[Sequence[Mapping[str, Field]]], str]

Over = tuple[Settlement, str, int]
"""A request that is over, the id of its trace or "", and when that was, in nanoseconds of the wall clock."""

MOST_ALIKE = 1_024
"""Kinds of requests whose common fields are remembered."""

NOBODY = Call("", "")
NOTHING = "", "", ""

Kind = tuple[Field | Call, ...]
"""What the common fields of a line hang on."""


class RequestLog:
    """Writes to `out` (standard error when None). No text of a prompt or an answer can get here: a Settlement has none."""

    def __init__(self, form: Form, redactor: Redactor, out: TextIO | None = None) -> None:
        self._clean = redactor.clean
        self._out = out or sys.stderr
        self._together = most_together(self._out)
        self._render = as_json() if form == "json" else for_people()
        self._alike: dict[Kind, dict[str, Field]] = {}
        self._clock = Clock()

    def write(self, over: Iterable[Over]) -> None:
        """Their lines, all at once; to a pipe, as many at once as no other process can write into. Raises LinesLost, or
        ValueError before any is written, when they cannot be."""
        write_lines(self._out, self._render([self._line(*one) for one in over]), self._together)

    def _line(self, settlement: Settlement, trace_id: str, at_ns: int) -> dict[str, Field]:
        """The fields, in the order in which a person asks: which, who, what came of it, why, how much. What only this process
        writes need not pass the redactor. Those that requests of one kind have in common are filled in once."""
        decision, usage, ttft_ms = settlement.decision, settlement.usage, settlement.ttft_ms
        named = (decision.route, decision.policy_hash, decision.artefact) if decision is not None else NOTHING
        asked = settlement.tenant, settlement.dialect, settlement.stream, settlement.answered_by
        kind = *asked, settlement.status, settlement.end, settlement.error_code, ttft_ms is None, *named
        fields = (self._alike.get(kind) or self._remember(kind, settlement, *named)).copy()
        fields["request_id"], fields["trace_id"] = settlement.request_id, trace_id
        fields["reason"] = self._clean(settlement.reason)
        fields["attempts"], fields["duration_ms"] = settlement.attempts, round(settlement.duration_ms, 1)
        if decision is not None and decision.line is not None:
            fields["line"] = decision.line.loss
        if ttft_ms is not None:
            fields["ttft_ms"] = round(ttft_ms, 1)
        if usage is not None:
            fields["prompt_tokens"], fields["completion_tokens"] = usage.prompt_tokens, usage.completion_tokens
            fields["cached_tokens"], fields["cache_written_tokens"] = usage.cached_tokens, usage.written_tokens
        fields["microusd"] = settlement.microusd
        fields["timestamp"] = self._clock.written(at_ns)
        if (
            settlement.judgement
            or settlement.budgeted is not None
            or settlement.hedged is not None
            or settlement.unretried
            or (decision is not None and decision.untold)
        ):
            for name, value in more(settlement):
                fields[name] = self._clean(value) if type(value) is str else value
        return fields

    def _remember(self, kind: Kind, settlement: Settlement, *named: str) -> dict[str, Field]:
        """All fields that every line has, those filled in that the kind has in common."""
        if len(self._alike) >= MOST_ALIKE:
            self._alike.clear()
        fields = self._alike[kind] = self._fresh(settlement, *named)
        return fields

    def _fresh(self, settlement: Settlement, route: str, policy: str, artefact: str) -> dict[str, Field]:
        clean, answered_by = self._clean, settlement.answered_by or NOBODY
        return {
            "request_id": None,
            "trace_id": None,
            "tenant": clean(settlement.tenant),
            "dialect": clean(settlement.dialect),
            "stream": settlement.stream,
            "status": settlement.status,
            "outcome": outcome(settlement),
            "end": settlement.end,
            "error_code": clean(settlement.error_code),
            "route": clean(route),
            "model": clean(answered_by.model),
            "replica": clean(answered_by.replica),
            "reason": None,
            "policy": policy,
            "artefact": clean(artefact),
            "line": None,
            "attempts": None,
            "duration_ms": None,
            "ttft_ms": None,
            "prompt_tokens": None,
            "completion_tokens": None,
            "cached_tokens": None,
            "cache_written_tokens": None,
            "microusd": None,
            "event": "request",
            "timestamp": None,
        }


class Clock:
    """Writes instants of the wall clock; what they share, the second, is written once."""

    def __init__(self) -> None:
        self._second, self._begins = -1, ""

    def written(self, at_ns: int) -> str:
        """
        >>> Clock().written(1_780_000_000_012_345_678)
        '2026-05-28T20:26:40.012345Z'
        """
        second, rest = divmod(at_ns, 1_000_000_000)
        if second != self._second:
            self._second, self._begins = second, time.strftime("%Y-%m-%dT%H:%M:%S.", time.gmtime(second))
        return f"{self._begins}{rest // 1_000:06d}Z"


def as_json() -> Render:
    """In 1 us a line; through a pipeline of processors it took 15."""
    encode = msgspec.json.Encoder().encode_lines
    return lambda lines: encode(lines).decode()


def for_people() -> Render:
    import structlog

    renderer = structlog.dev.ConsoleRenderer(colors=False)
    return lambda lines: "".join([f"{renderer(None, 'info', dict(fields))}\n" for fields in lines])


def more(settlement: Settlement) -> Iterator[tuple[str, Field]]:
    """Fields that only some lines have."""
    if settlement.judgement:
        yield from _judged(settlement).items()
    if settlement.unretried:
        yield "unretried", True
    if left_out := not_told(settlement):
        yield "left_out", left_out
    if settlement.budgeted is not None:
        yield from budgets.line(settlement.budgeted).items()
    if (told := settlement.hedged) is not None:  # what the loser was charged is part of the cost
        yield from (("hedge", told.result), ("hedge_after_s", told.after_s), ("hedge_microusd", told.microusd))


def not_told(settlement: Settlement) -> str:
    """What of the request whoever answered was not told."""
    decision, by = settlement.decision, settlement.answered_by
    return "thinking" if decision is not None and by is not None and by.model in decision.untold else ""


def _judged(settlement: Settlement) -> dict[str, Field]:
    """Of an answer that was held back; what was given up is part of the cost."""
    gave_up, used = settlement.abandoned_by, settlement.abandoned
    return {
        "judgement": settlement.judgement,
        "p_correct": None if settlement.p_correct is None else round(settlement.p_correct, 3),
        "weighed_as": settlement.weighed_as,
        "abandoned_model": gave_up.model if gave_up else "",
        "abandoned_tokens": used.completion_tokens if used else 0,
        "abandoned_microusd": settlement.abandoned_microusd,
        "second_model": settlement.beside.model if settlement.beside else "",
        "second_microusd": settlement.beside_microusd,
    }
