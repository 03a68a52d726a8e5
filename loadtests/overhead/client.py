"""Who asks: connections that each have one request under way, on bare protocols so that asking is cheaper than answering."""

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from loadtests.overhead.wire import Answer, Stamps


@dataclass(slots=True)
class Heard:
    """What one load heard. Times in milliseconds; `delays` from the upstream's write to our read."""

    took: list[float] = field(default_factory=list)
    ttfts: list[float] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)
    bad: int = 0
    elapsed_s: float = 0.0

    def clear(self) -> None:
        """What was heard while everybody warmed up does not count."""
        self.took.clear()
        self.ttfts.clear()
        self.delays.clear()
        self.bad = 0


class Caller(asyncio.Protocol):
    """One connection that asks, hears the answer, and asks again while `next_wire` has something to ask."""

    def __init__(self, next_wire: Callable[[], bytes | None], heard: Heard) -> None:
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._next_wire = next_wire
        self._heard = heard
        self._answer = Answer()
        self._stamps = Stamps()
        self._asked_ns = 0
        self._spoke = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.WriteTransport = transport  # type: ignore[assignment]  # uvloop's is no subclass
        self._ask()

    def data_received(self, data: bytes) -> None:
        said = self._answer.feed(data)
        now = time.monotonic_ns()
        if said and b"@" in said:
            self._tokens(said, now)
        if self._answer.is_over:
            self._heard.took.append((now - self._asked_ns) / 1e6)
            self._heard.bad += not self._answer.is_good
            self._ask()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.over.done():
            self._heard.bad += 1
            self.over.set_result(None)

    def _tokens(self, said: bytes, now: int) -> None:
        stamps = self._stamps.feed(said)
        if stamps and not self._spoke:
            self._spoke = True
            self._heard.ttfts.append((now - self._asked_ns) / 1e6)
        self._heard.delays.extend([(now - stamp) / 1e6 for stamp in stamps])

    def _ask(self) -> None:
        wire = self._next_wire()
        if wire is None:
            self.over.set_result(None)
            self._transport.close()
            return
        self._answer, self._stamps, self._spoke = Answer(), Stamps(), False
        self._asked_ns = time.monotonic_ns()
        self._transport.write(wire)


@dataclass(frozen=True)
class Load:
    """`width` connections, each asking again as soon as it was answered, for `seconds` after `warm_s`.

    They begin evenly over `spread_s`, so that streams do not all begin, and speak, in the same instant. With `times`
    each asks that often and `seconds` does not count.
    """

    wires: tuple[bytes, ...]
    width: int
    seconds: float
    warm_s: float = 0.0
    spread_s: float = 0.0
    times: int = 0


async def ask(url: str, load: Load, warmed: Callable[[], None] = lambda: None) -> Heard:
    """`url` is http://HOST:PORT. `warmed` is called when the time that counts begins. Raises OSError when nobody listens."""
    heard, loop, wires = Heard(), asyncio.get_running_loop(), _in_turn(load.wires)
    host, _, port = url.removeprefix("http://").partition(":")
    began = time.perf_counter()
    end = began + load.warm_s + load.seconds

    async def caller(number: int) -> None:
        left = iter(range(load.times))
        await asyncio.sleep(load.spread_s * number / load.width)

        def next_wire() -> bytes | None:
            goes_on = next(left, None) is not None if load.times else time.perf_counter() < end
            return next(wires) if goes_on else None

        _, protocol = await loop.create_connection(lambda: Caller(next_wire, heard), host, int(port))
        await protocol.over

    def begin() -> None:
        nonlocal began
        began = time.perf_counter()
        heard.clear()
        warmed()

    loop.call_later(load.warm_s, begin) if load.warm_s else begin()
    async with asyncio.TaskGroup() as tasks:
        for number in range(load.width):
            tasks.create_task(caller(number), name=f"caller {number}")
    heard.elapsed_s = time.perf_counter() - began
    return heard


def _in_turn(wires: tuple[bytes, ...]) -> Iterator[bytes]:
    while True:
        yield from wires
