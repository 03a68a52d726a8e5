"""A chat server with one fault, as a process: `python -m loadtests.shadows.faulty PORT FAULT`.

`none` and `kill` answer at once (who kills it is the drill), `slow` after 300 ms and a token each 30 ms, `hang` never, `500`
with that, `flood` without end. `GET /billed` tells how many tokens it has charged, by its own count.
"""

import asyncio
import json
import sys
from typing import Literal, NamedTuple, get_args

from loadtests.peers.mock_upstream import FIRST, LAST, NEXT, TAIL, TOKENS, USAGE, WHOLE
from loadtests.shadows.upstream import TEXT_LAST, TEXT_NEXT, TEXT_TAIL, TEXT_WHOLE

Fault = Literal["none", "hang", "500", "flood", "slow", "kill"]
FAULTS: tuple[Fault, ...] = get_args(Fault)

WAIT_S = {"slow": 0.3}
GAP_S = {"slow": 0.03}
CHUNK = b"%x\r\n%b\r\n"


class Words(NamedTuple):
    """What is said of one kind of request, whole or event by event."""

    whole: bytes
    first: bytes
    next: bytes
    last: bytes


CHATS = Words(WHOLE, FIRST, NEXT, LAST + TAIL)
TEXTS = Words(TEXT_WHOLE, TEXT_NEXT, TEXT_NEXT, TEXT_LAST + TEXT_TAIL)


class Faulty:
    def __init__(self, fault: Fault) -> None:
        self._fault = fault
        self._answers = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                body = await reader.readexactly(length_of(head))
                await self._answer(head, body.replace(b" ", b""), writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()

    async def _answer(self, head: bytes, body: bytes, writer: asyncio.StreamWriter) -> None:
        if head.startswith(b"GET"):
            billed = json.dumps({"answers": self._answers, "tokens": self._answers * USAGE["total_tokens"]})
            await write(writer, 200, billed.encode())
        elif self._fault == "hang":
            await asyncio.Event().wait()
        elif self._fault == "500":
            await write(writer, 500, b'{"error":{"message":"a fault of the drill"}}')
        elif self._fault == "flood":
            await flood(writer)
        else:
            words = TEXTS if b"/chat/completions" not in head.partition(b"\r\n")[0] else CHATS
            await self._speak(writer, words, stream=b'"stream":true' in body)

    async def _speak(self, writer: asyncio.StreamWriter, words: Words, *, stream: bool) -> None:
        """It charges for what it has begun to say."""
        self._answers += 1
        await asyncio.sleep(WAIT_S.get(self._fault, 0))
        if not stream:
            await write(writer, 200, words.whole)
            return
        begin_stream(writer)
        for number in range(TOKENS):
            event = words.first if number == 0 else words.next
            writer.write(CHUNK % (len(event), event))
            if gap_s := GAP_S.get(self._fault, 0):
                await writer.drain()
                await asyncio.sleep(gap_s)
        writer.write(CHUNK % (len(words.last), words.last) + b"0\r\n\r\n")
        await writer.drain()


def length_of(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0


def begin_stream(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")


async def write(writer: asyncio.StreamWriter, status: int, body: bytes) -> None:
    head = f"HTTP/1.1 {status} OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    await writer.drain()


async def flood(writer: asyncio.StreamWriter) -> None:
    """As fast as it is read."""
    begin_stream(writer)
    events = NEXT * 300
    while True:
        writer.write(CHUNK % (len(events), events))
        await writer.drain()


async def main(port: int, fault: Fault) -> None:
    server = await asyncio.start_server(Faulty(fault).serve, "127.0.0.1", port)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), next(fault for fault in FAULTS if fault == sys.argv[2])))
