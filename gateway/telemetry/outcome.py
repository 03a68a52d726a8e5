"""How a request ended, in the closed set that metrics, spans and logs share."""

from gateway.request.settlement import Settlement
from gateway.telemetry.words import Outcome


def outcome(settlement: Settlement) -> Outcome:
    """One of `words.OUTCOMES`; `cut` when an error came after content had left."""
    if settlement.end in ("cancelled", "rejected"):
        return settlement.end
    if settlement.end == "error":
        return "error" if settlement.ttft_ms is None else "cut"
    return "ok"
