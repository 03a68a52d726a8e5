"""One structured line for each request, written when it is over."""

import sys
from collections.abc import MutableMapping
from typing import Any, Literal, TextIO

import msgspec
import structlog

from gateway.request.settlement import Settlement
from gateway.telemetry.outcome import outcome
from gateway.telemetry.redact import Redactor
from policies.decision import Call

Form = Literal["json", "console"]

JSON = structlog.processors.JSONRenderer(serializer=lambda event, **_: msgspec.json.encode(event).decode())
"""msgspec writes a line in 1 us, the standard library in 8."""

OURS = frozenset({"event", "timestamp", "request_id", "trace_id", "policy", "outcome", "end"})
"""Fields that only this process writes; the others pass the redactor."""


class RequestLog:
    """Writes to `out` (standard error when None). No text of a prompt or an answer can get here: a Settlement has none."""

    def __init__(self, form: Form, redactor: Redactor, out: TextIO | None = None) -> None:
        self._redactor = redactor
        self._log = structlog.wrap_logger(
            structlog.WriteLogger(out or sys.stderr),
            processors=[
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                self._clean,
                JSON if form == "json" else structlog.dev.ConsoleRenderer(colors=False),
            ],
            wrapper_class=structlog.BoundLogger,
        )

    def settled(self, settlement: Settlement, trace_id: str) -> None:
        """Raises OSError or ValueError when the line cannot be written."""
        self._log.info("request", **line(settlement, trace_id))

    def _clean(self, _logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        for key, value in event.items():
            if isinstance(value, str) and key not in OURS:
                event[key] = self._redactor.clean(value)
        return event


Field = str | int | float | bool | None


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
    }


def _decision(settlement: Settlement) -> dict[str, Field]:
    decision, answered_by = settlement.decision, settlement.answered_by or Call("", "")
    return {
        "route": decision.route if decision else "",
        "model": answered_by.model,
        "replica": answered_by.replica,
        "reason": decision.reason if decision else "",
        "policy": decision.policy_hash if decision else "",
    }


def _cost(settlement: Settlement) -> dict[str, Field]:
    usage = settlement.usage
    return {
        "attempts": settlement.attempts,
        "duration_ms": round(settlement.duration_ms, 1),
        "ttft_ms": None if settlement.ttft_ms is None else round(settlement.ttft_ms, 1),
        "prompt_tokens": usage.prompt_tokens if usage else None,
        "completion_tokens": usage.completion_tokens if usage else None,
        "cached_tokens": usage.cached_tokens if usage else None,
        "microusd": settlement.microusd,
    }
