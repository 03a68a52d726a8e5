"""An upstream that costs next to nothing: `python -m loadtests.overhead.upstream PORT`.

A chat is answered at once; a stream has `max_tokens` tokens, one each `seed` milliseconds, and each token holds the moment
at which it left. Anything else gets an empty object, which satisfies whoever asks after health.
"""

import asyncio
import re
import sys
import time

import uvloop

from loadtests.overhead.wire import END

LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
STREAMS = re.compile(rb'"stream": ?true')
TOKENS = re.compile(rb'"max_tokens": ?(\d+)')
GAP_MS = re.compile(rb'"seed": ?(\d+)')
USAGE = b'"usage":{"prompt_tokens":200,"completion_tokens":40,"total_tokens":240}'
HEAD = b'{"id":"chatcmpl-1","object":"chat.completion%b","created":1,"model":"m","choices":[%b]%b}'
CHOICE = b'{"index":0,"delta":{%b},"finish_reason":%b}'


def chunk(choices: bytes, more: bytes = b"") -> bytes:
    return framed(b"data: " + HEAD % (b".chunk", choices, more) + b"\n\n")


def framed(event: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(event), event)


def whole(payload: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(payload) + payload


STREAM_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
MESSAGE = b'{"index":0,"message":{"role":"assistant","content":"%b"},"finish_reason":"stop"}' % (b"word " * 40)
ANSWER = whole(HEAD % (b"", MESSAGE, b"," + USAGE))
NOTHING = whole(b"{}")
LAST = chunk(CHOICE % (b"", b'"stop"')) + chunk(b"", b"," + USAGE) + framed(b"data: [DONE]\n\n") + b"0\r\n\r\n"


def token(delta: bytes, now_ns: int) -> bytes:
    return chunk(CHOICE % (delta % now_ns, b"null"))


class Upstream(asyncio.Protocol):
    """One connection, one request at a time."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._received = b""
        self._said = self._tokens = 0
        self._gap_s = self._next_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.WriteTransport = transport  # type: ignore[assignment]  # uvloop's is no subclass

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, sent = self._received.partition(END)
        length = LENGTH.search(head)
        if not end or len(sent) < (int(length[1]) if length else 0):
            return
        self._received = b""
        if b"/chat/completions " not in head.partition(b"\r")[0]:
            self._transport.write(NOTHING)
        elif STREAMS.search(sent):
            self._begin(sent)
        else:
            self._transport.write(ANSWER)

    def _begin(self, sent: bytes) -> None:
        tokens, gap_ms = TOKENS.search(sent), GAP_MS.search(sent)
        self._tokens = int(tokens[1]) if tokens else 1
        self._gap_s = int(gap_ms[1]) / 1_000 if gap_ms else 0.0
        self._said, self._next_at = 0, self._loop.time()
        self._transport.write(STREAM_HEAD)
        self._speak()

    def _speak(self) -> None:
        if self._transport.is_closing():
            return
        delta = b'"content":"@%d@"' if self._said else b'"role":"assistant","content":"@%d@"'
        self._said += 1
        self._transport.write(token(delta, time.monotonic_ns()))
        if self._said < self._tokens:
            self._next_at += self._gap_s
            self._loop.call_at(self._next_at, self._speak)
        else:
            self._transport.write(LAST)


def command(port: int) -> list[str]:
    return [sys.executable, "-m", "loadtests.overhead.upstream", str(port)]


async def main(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(Upstream, "127.0.0.1", port, backlog=1_024)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1])))
