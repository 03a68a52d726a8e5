"""Requests as bytes, and answers out of them. Knows HTTP/1.1 as far as servers that behave need it; no socket."""

import json
import re
from dataclasses import dataclass

PATH = "/v1/chat/completions"
STAMP = re.compile(rb"@(\d{10,20})@")
"""A moment inside a token: nanoseconds of the monotonic clock, which all processes of a machine share."""

PROMPTS = 16
"""Different prompts that take turns: a classifier has seen them all after a moment, as it has in life."""

QUESTION = "How does a turnout set a train on the track that leads where it wants to go? "
KEY = "overhead-key"
END = b"\r\n\r\n"


def body(size: int, number: int, *, stream: bool = False, tokens: int = 100, gap_ms: int = 10) -> bytes:
    """A chat of about `size` bytes; prompts of different numbers differ from their first word on. A stream of `tokens`, one
    each `gap_ms`, which the mock reads from `seed`.

    Long ones are a system prompt with documents and a few turns, as agents send them.
    """
    words = f"Number {number}. {QUESTION}"
    turns = [{"role": "user", "content": words}]
    if size > 4_096:
        turns = [{"role": "system", "content": words}, {"role": "user", "content": words}]
    shape = {"model": "auto", "messages": turns, "stream": stream, "max_tokens": tokens, "seed": gap_ms}
    lacking = size - len(json.dumps(shape))
    turns[0]["content"] += (QUESTION * (lacking // len(QUESTION) + 1))[: max(0, lacking)]
    return json.dumps(shape).encode()


def request(host: str, payload: bytes) -> bytes:
    head = (
        f"POST {PATH} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {KEY}\r\nuser-agent: overhead\r\n"
        f"accept: */*\r\ncontent-type: application/json\r\ncontent-length: {len(payload)}\r\n\r\n"
    )
    return head.encode() + payload


@dataclass(slots=True)
class Answer:
    """One answer as it comes in; `feed` it until `is_over`. `is_good`: status 200, and a stream that says `[DONE]`."""

    status: int = 0
    is_over: bool = False
    is_good: bool = False
    _head: bytes = b""
    _left: int = -1
    _tail: bytes = b""

    def feed(self, data: bytes) -> bytes:
        """What of `data` is body, with the frame of chunks where there is one."""
        if not self.status:
            self._head += data
            head, end, data = self._head.partition(END)
            if not end:
                return b""
            self._begin(head.lower())
        if self._left >= 0:
            self._left -= len(data)
            self.is_over = self._left <= 0
            self.is_good = self.is_over and self.status == 200
        else:
            self._tail = (self._tail + data)[-64:]
            self.is_over = self._tail.endswith(b"\r\n0\r\n\r\n") or self._tail == b"0\r\n\r\n"
            self.is_good = self.is_over and self.status == 200 and b"[DONE]" in self._tail
        return data

    def _begin(self, head: bytes) -> None:
        self.status = int(head[9:12])
        length = re.search(rb"\r\ncontent-length: *(\d+)", head)
        self._left = int(length[1]) if length else -1


@dataclass(slots=True)
class Stamps:
    """The moments inside a stream, whole however it was cut."""

    _rest: bytes = b""

    def feed(self, data: bytes) -> list[int]:
        """Nanoseconds of the tokens that are whole by now."""
        data = self._rest + data
        found = list(STAMP.finditer(data))
        done = found[-1].end() if found else 0
        self._rest = data[done:][-256:]
        return [int(stamp[1]) for stamp in found]
