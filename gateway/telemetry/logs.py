"""One structured line for each request, written when it is over."""

import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Literal, TextIO

import msgspec

from gateway.request.settlement import Settlement
from gateway.telemetry import budgets
from gateway.telemetry.outcome import outcome
from gateway.telemetry.redact import Redactor
from policies.decision import Call

Form = Literal["json", "console"]

Field = str | int | float | bool | None

Render = Callable[[Mapping[str, Field]], str]

OURS = frozenset({"request_id", "trace_id", "policy", "outcome", "end"})
"""Fields that only this process writes; the others pass the redactor."""


class RequestLog:
    """Writes to `out` (standard error when None). No text of a prompt or an answer can get here: a Settlement has none."""

    def __init__(self, form: Form, redactor: Redactor, out: TextIO | None = None) -> None:
        self._redactor = redactor
        self._out = out or sys.stderr
        self._render = as_json if form == "json" else for_people()

    def settled(self, settlement: Settlement, trace_id: str) -> None:
        """Raises OSError or ValueError when the line cannot be written."""
        clean, fields = self._redactor.clean, line(settlement, trace_id)
        for name, value in fields.items():
            if type(value) is str and value and name not in OURS:
                fields[name] = clean(value)
        fields["event"], fields["timestamp"] = "request", timestamp()
        self._out.write(self._render(fields) + "\n")
        self._out.flush()


def as_json(fields: Mapping[str, Field]) -> str:
    """In 1 us; through a pipeline of processors it took 15."""
    return msgspec.json.encode(fields).decode()


def for_people() -> Render:
    import structlog

    renderer = structlog.dev.ConsoleRenderer(colors=False)
    return lambda fields: str(renderer(None, "info", dict(fields)))


def timestamp() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def line(settlement: Settlement, trace_id: str) -> dict[str, Field]:
    """The fields of the line, in the order in which a person asks: which, who, what came of it, why, how much."""
    return {
        "request_id": settlement.request_id,
        "trace_id": trace_id,
        "tenant": settlement.tenant,
        "dialect": settlement.dialect,
        "stream": settlement.stream,
        "status": settlement.status,
        "outcome": outcome(settlement),
        "end": settlement.end,
        "error_code": settlement.error_code,
        **_decision(settlement),
        **_cost(settlement),
        **_judged(settlement),
        **({"unretried": True} if settlement.unretried else {}),
        **budgets.line(settlement),
        **_hedged(settlement),
    }


def _decision(settlement: Settlement) -> dict[str, Field]:
    decision, answered_by = settlement.decision, settlement.answered_by or Call("", "")
    return {
        "route": decision.route if decision else "",
        "model": answered_by.model,
        "replica": answered_by.replica,
        "reason": settlement.reason,
        "policy": decision.policy_hash if decision else "",
        "artefact": decision.artefact if decision else "",
        "line": decision.line.loss if decision and decision.line else None,
    }


def _judged(settlement: Settlement) -> dict[str, Field]:
    """Of an answer that was held back; what was given up is part of the cost above."""
    gave_up, used = settlement.abandoned_by, settlement.abandoned
    if not settlement.judgement:
        return {}
    return {
        "judgement": settlement.judgement,
        "p_correct": None if settlement.p_correct is None else round(settlement.p_correct, 3),
        "abandoned_model": gave_up.model if gave_up else "",
        "abandoned_tokens": used.completion_tokens if used else 0,
        "abandoned_microusd": settlement.abandoned_microusd,
        "second_model": settlement.beside.model if settlement.beside else "",
        "second_microusd": settlement.beside_microusd,
    }


def _hedged(settlement: Settlement) -> dict[str, Field]:
    """Of a race; what the loser was charged is part of the cost above."""
    told = settlement.hedged
    return (
        {} if told is None else {"hedge": told.result, "hedge_after_s": told.after_s, "hedge_microusd": told.microusd}
    )


def _cost(settlement: Settlement) -> dict[str, Field]:
    usage = settlement.usage
    return {
        "attempts": settlement.attempts,
        "duration_ms": round(settlement.duration_ms, 1),
        "ttft_ms": None if settlement.ttft_ms is None else round(settlement.ttft_ms, 1),
        "prompt_tokens": usage.prompt_tokens if usage else None,
        "completion_tokens": usage.completion_tokens if usage else None,
        "cached_tokens": usage.cached_tokens if usage else None,
        "cache_written_tokens": usage.written_tokens if usage else None,
        "microusd": settlement.microusd,
    }
