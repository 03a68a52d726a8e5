"""The log of decisions as requests see it: a bounded queue, and the one thread that empties it onto the disk.

Handing over returns at once and never raises: what cannot be kept is dropped and counted.
"""

import asyncio
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial

import msgspec

from backends.messages import ChatRequest
from classifiers.features.numbers import Numbers
from gateway.decisions.asked import Asked, asked
from gateway.decisions.clean import cleaned
from gateway.decisions.lately import Lately, Standing
from gateway.decisions.record import FeedbackRecord, Record, ShadowRecord, SignalRecord, recorded
from gateway.decisions.segments import Segments
from gateway.decisions.shelf import Shelf
from gateway.decisions.signals import Signals
from gateway.live.in_force import Estimates
from gateway.request.identity import Principal
from gateway.request.judge import Judged
from gateway.request.settlement import Settlement
from gateway.telemetry.redact import Redactor
from policies.decision import Decision
from policies.estimates import Estimate
from policies.facts import Facts
from policies.language.kept import Kept, keep
from policies.policy import Policy
from policies.snapshot import Snapshot

log = logging.getLogger("turnout.decisions")

PAUSE_S = 0.2
"""Between two looks at the queue: what the end of the process by SIGKILL loses at most."""

SYNC_S = 5.0
"""Between two fsyncs: what the end of the machine loses at most."""

PATIENCE_S = 5.0
"""How long after its decision a record waits for its numbers, where those are kept."""

BATCH = 128
"""Records that are written at once."""


READABLE: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)


class Settled(msgspec.Struct, frozen=True):
    """A request that is over. The values themselves; they become a line in the thread. `numbers` tells them there."""

    facts: Facts
    estimate: Estimate
    snapshot: Snapshot
    decision: Decision
    settlement: Settlement
    numbers: Callable[[], Numbers | None] | None = None


Waiting = Settled | FeedbackRecord | SignalRecord | ShadowRecord


class DecisionLog:
    """`most` are waiting at once. `dropped` is told how many records were lost, from whichever thread. `tells` hears what
    callers say without words as well, from the event loop."""

    def __init__(
        self,
        segments: Segments,
        redactor: Redactor,
        *,
        most: int,
        dropped: Callable[[int], object],
        sync_s: float = SYNC_S,
        keeps_numbers: bool = False,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._segments = segments
        self._shelf = Shelf(segments.folder)
        self._redactor = redactor
        self._most = most
        self._dropped = dropped
        self._sync_s = sync_s
        self._keeps_numbers = keeps_numbers
        self._now = now
        self._signals = Signals()
        self.tells: Callable[[SignalRecord], object] = lambda _: None
        self._lately = Lately()
        self._secret = os.urandom(32)
        self._synced_at = time.monotonic()
        self._policies: deque[tuple[str, Kept]] = deque()
        self._waiting: deque[Waiting] = deque()
        self._over = threading.Event()
        self._is_failing = False
        self._thread = threading.Thread(target=self._run, name="decision-log", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def policy_loaded(self, policy: Policy, text: str) -> None:
        """From here on decisions may be made by it."""
        self._policies.append((policy.hash, keep(policy, text)))

    def asked(self, request: ChatRequest, principal: Principal, estimates: Estimates | None) -> Asked:
        """What the log wants of a request that is under way."""
        kept_by = estimates if self._keeps_numbers else None
        return asked(request, principal, kept_by, secret=self._secret, now=self._now())

    def settled(self, judged: Judged, settlement: Settlement, beside: Asked | None = None) -> None:
        """A request that was decided is over."""
        self._lately.answered(settlement.tenant, settlement.request_id, self._now())
        numbers = beside.numbers if beside is not None else None
        self._hand_over(Settled(judged.facts, judged.estimate, judged.snapshot, judged.decision, settlement, numbers))
        if beside is not None:
            for signal in self._signals.over(beside, settlement, self._now()):
                self._hand_over(signal)
                self.tells(signal)

    def heard(self, feedback: FeedbackRecord) -> Standing | None:
        """What becomes of it; None where there is no room for it."""
        standing = self._lately.standing(feedback, self._segments.since)
        if standing in ("unchanged", "expired"):
            return standing
        if not self._hand_over(feedback):
            return None
        self._lately.heard(feedback)
        return standing

    def compared(self, record: ShadowRecord) -> None:
        """A shadow was asked the same as an earlier request."""
        self._hand_over(record)

    async def aclose(self, within_s: float = 5.0) -> None:
        """Write what waits, for `within_s` seconds at most."""
        self._over.set()
        await asyncio.to_thread(self._thread.join, within_s)

    def _hand_over(self, record: Waiting) -> bool:
        if len(self._waiting) >= self._most:
            self._dropped(1)
            return False
        self._waiting.append(record)
        return True

    def _run(self) -> None:
        while not self._over.wait(PAUSE_S):
            self._empty()
        self._empty()
        self._attempt(0, self._segments.close)

    def _empty(self) -> None:
        unready: list[Waiting] = []
        while self._waiting:
            taken = [self._waiting.popleft() for _ in range(min(len(self._waiting), BATCH))]
            unready += [waiting for waiting in taken if self._lacks_numbers(waiting)]
            batch = [waiting for waiting in taken if not any(waiting is one for one in unready)]
            lines = [line for waiting in batch if (line := self._line(waiting))]
            if len(lines) < len(batch):
                self._dropped(len(batch) - len(lines))
            self._attempt(len(lines), partial(self._write, b"".join(lines), policies_of(batch)))
        self._waiting.extendleft(reversed(unready))
        if time.monotonic() - self._synced_at >= self._sync_s:
            self._synced_at = time.monotonic()
            self._attempt(0, self._segments.sync)

    def _lacks_numbers(self, waiting: Waiting) -> bool:
        """Whether a question is still being embedded, and that is worth waiting for."""
        if not isinstance(waiting, Settled) or waiting.numbers is None or self._over.is_set():
            return False
        return self._now() - waiting.snapshot.now < PATIENCE_S and waiting.numbers() is None

    def _attempt(self, count: int, act: Callable[[], None]) -> None:
        """What fails costs these `count` records, and one line in the process's log for each row of failures."""
        try:
            act()
        except Exception as error:
            self._dropped(count)
            if not self._is_failing:
                log.error("decisions are not kept: %s", error, exc_info=not isinstance(error, OSError))
            self._is_failing = True
            return
        if self._is_failing and count:
            log.info("decisions are kept again")
            self._is_failing = False

    def _write(self, lines: bytes, policies: Iterable[str]) -> None:
        """Raises OSError. A decision is on disk only where its policy is."""
        while self._policies:
            self._shelf.learn(*self._policies.popleft())
        self._segments.begin(len(lines))
        for digest in policies:
            self._shelf.need(digest, self._segments.count)
        self._segments.append(lines)

    def _line(self, waiting: Waiting) -> bytes:
        """With its end; empty for what nobody could read again, as a number that is none (JSON has no NaN): one such line
        would close the log behind it."""
        try:
            line = msgspec.json.encode(self._record(waiting))
            READABLE.decode(line)
        except (msgspec.MsgspecError, ValueError) as error:
            log.error("a record that cannot be read again is not kept: %s", error)
            return b""
        return line + b"\n"

    def _record(self, waiting: Waiting) -> Record:
        if not isinstance(waiting, Settled):
            return waiting
        decided = recorded(
            waiting.facts,
            waiting.estimate,
            waiting.snapshot,
            waiting.decision,
            waiting.settlement,
            numbers=waiting.numbers() if waiting.numbers is not None else None,
        )
        return cleaned(decided, self._redactor)


def policies_of(batch: Iterable[Waiting]) -> list[str]:
    """Hashes, each once."""
    hashes = [waiting.decision.policy_hash for waiting in batch if isinstance(waiting, Settled)]
    return list(dict.fromkeys(hashes))
