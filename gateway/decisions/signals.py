"""What callers say without words: they ask again, they leave, or they get what they cannot use.

Each signal has a definition with a version. Who changes what one means raises it, so that counts of two meanings are never
added up.
"""

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gateway.decisions.asked import Asked
from gateway.decisions.record import Signal, SignalRecord
from gateway.request.settlement import Settlement
from policies.escalate.shape import misshapen

AGAIN_WITHIN_S = 600.0
"""Of the definition of `regenerated` and `retried`."""

REMEMBERED = 65_536
"""Requests that may be asked again; the oldest are forgotten first. Some 20 MB when full."""

VERSIONS: Mapping[Signal, int] = {"regenerated": 1, "retried": 1, "abandoned": 1, "misshapen": 1}
"""
regenerated  1: of an answer. The same tenant sends the same messages again within 10 minutes of its end
retried      1: of a request that ended in an error. Likewise
abandoned    1: of a stream. The client left after its first content and before its end
misshapen    1: of an answer that ended by itself. JSON was asked for, and it is none, or not of the schema
"""


class Before(NamedTuple):
    """A request that is over."""

    request_id: str
    ended_at: float
    failed: bool


class Signals:
    """Remembers digests of what was asked lately, nothing else."""

    def __init__(self, most: int = REMEMBERED) -> None:
        self._most = most
        self._before: OrderedDict[bytes, Before] = OrderedDict()

    def over(self, asked: Asked, settlement: Settlement, now: float) -> Iterator[SignalRecord]:
        """What a request that is over says of itself, and of the same one before it. Call it once for each."""
        before = self._before.pop(asked.key, None)
        self._before[asked.key] = Before(settlement.request_id, now, settlement.end == "error")
        if len(self._before) > self._most:
            self._before.popitem(last=False)
        if before is not None and 0 <= asked.at - before.ended_at <= AGAIN_WITHIN_S:
            again: Signal = "retried" if before.failed else "regenerated"
            yield said(again, before.request_id, settlement, now, after_s=asked.at - before.ended_at)
        if settlement.end == "cancelled" and settlement.stream and settlement.ttft_ms is not None:
            yield said("abandoned", settlement.request_id, settlement, now)
        if is_misshapen(asked, settlement):
            yield said("misshapen", settlement.request_id, settlement, now)


def is_misshapen(asked: Asked, settlement: Settlement) -> bool:
    """An answer of which nothing was heard, or that was cut, says nothing."""
    if asked.ear is None or asked.wanted is None or settlement.end not in ("stop", "tool_calls"):
        return False
    heard = asked.ear.said()
    return heard.whole and bool(heard.text.strip()) and misshapen(heard, asked.wanted)


def said(signal: Signal, of: str, by: Settlement, now: float, after_s: float | None = None) -> SignalRecord:
    """`of` is the request that it tells of, `by` the one that showed it."""
    return SignalRecord(
        at=now,
        request_id=of,
        tenant=by.tenant,
        signal=signal,
        version=VERSIONS[signal],
        by=by.request_id,
        after_s=after_s,
    )
