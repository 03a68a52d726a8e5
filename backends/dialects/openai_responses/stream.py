"""Events in, event-stream bytes out: the numbered events of a response that a client reads."""

from collections.abc import Mapping
from typing import Any

import msgspec

from backends.dialects.openai_responses.listening import Listening
from backends.dialects.openai_responses.output import Item, Kind, Logprob
from backends.dialects.openai_responses.shapes import Head, part_of
from backends.messages import ChatRequest, Event
from backends.sse import encode

PIECES: Mapping[Kind, tuple[str, str]] = {
    "reasoning": ("response.reasoning_text", "text"),
    "text": ("response.output_text", "text"),
    "refusal": ("response.refusal", "refusal"),
    "call": ("response.function_call_arguments", "arguments"),
}
"""For each kind of item, its `.delta` and `.done` events, and the field in which the latter has all of it."""

_encode = msgspec.json.encode
_ERROR = msgspec.json.Decoder(dict[str, dict[str, Any]])


class Renderer:
    """State of one stream. One item is open at a time; what comes for a later one waits until it may open.

    The response ends in `end()`, not where the upstream tells its reason: usage comes after that.
    """

    def __init__(self, request: ChatRequest, model: str, suffix: str, created: int) -> None:
        self._head = Head(request, model, suffix, created)
        self._heard = Listening(shows_logprobs=request.sampling.logprobs)
        self._number = 0
        self._at = 0
        self._frame = (b"", b"", b"")
        self._is_open = False
        self._over = False

    def render(self, event: Event) -> bytes:
        """Bytes for the client; empty when this event shows nothing."""
        self._heard.hear(event)
        return self._advance(last=False) if self._heard.output.items else b""

    def end(self) -> bytes:
        """The open item, then the whole response, once."""
        if self._over:
            return b""
        shown = self._advance(last=True)
        self._over = True
        response = self._head.ended(self._heard)
        return shown + self._event(f"response.{response['status']}", response=response)

    def error(self, body: bytes) -> bytes:
        """The envelope's error as an event of its own, and nothing after it: here its fields lie flat."""
        if self._over:
            return b""
        self._over = True
        told = _ERROR.decode(body)["error"]
        return self._event("error", code=told["code"], message=told["message"], param=told["param"])

    def _start(self) -> bytes:
        if self._number:
            return b""
        begun = self._head.begun()
        return self._event("response.created", response=begun) + self._event("response.in_progress", response=begun)

    def _advance(self, *, last: bool) -> bytes:
        """As far as the items go: opened, told and closed one after the other."""
        shown: list[bytes] = [self._start()]
        items = self._heard.output.items
        while self._at < len(items):
            item, is_newest = items[self._at], self._at == len(items) - 1
            if not self._is_open and not (item.may_open or last):
                break
            shown += self._tell(item)
            if not last and (is_newest or not item.may_close):
                break
            shown += self._close(item, self._heard.status if is_newest else "completed")
            self._at += 1
        return b"".join(shown)

    def _tell(self, item: Item) -> list[bytes]:
        events = [] if self._is_open else self._open(item)
        piece, logprobs = "".join(item.pieces.all[item.shown :]), item.logprobs[item.shown_logprobs :]
        item.shown, item.shown_logprobs = len(item.pieces.all), len(item.logprobs)
        if piece or logprobs:
            events.append(self._delta(piece, logprobs))
        return events

    def _delta(self, piece: str, logprobs: list[Logprob]) -> bytes:
        """The event of which there are hundreds: written around what all those of one item have alike."""
        name, where, last = self._frame
        told = _encode(logprobs) if last else b""
        data = b'{"type":"%b","sequence_number":%d%b%b%b%b}' % (name, self._number, where, _encode(piece), last, told)
        self._number += 1
        return encode(data, name)

    def _open(self, item: Item) -> list[bytes]:
        self._is_open = True
        where = b"," + _encode(self._where(item))[1:-1] + b',"delta":'
        last = b',"logprobs":' if item.kind == "text" else b""
        self._frame = (f"{PIECES[item.kind][0]}.delta".encode(), where, last)
        added = self._item(item, "added", "in_progress")
        return [added] if item.kind == "call" else [added, self._part(item, "added", "")]

    def _close(self, item: Item, status: str) -> list[bytes]:
        self._is_open = False
        extra = (
            {"logprobs": item.logprobs} if item.kind == "text" else {"name": item.name} if item.kind == "call" else {}
        )
        name, whole = PIECES[item.kind]
        done = self._event(f"{name}.done", **self._where(item), **{whole: item.content}, **extra)
        part = [] if item.kind == "call" else [self._part(item, "done", item.content)]
        return [done, *part, self._item(item, "done", status)]

    def _item(self, item: Item, what: str, status: str) -> bytes:
        shown = self._head.item(item, status)
        return self._event(f"response.output_item.{what}", output_index=item.place, item=shown)

    def _part(self, item: Item, what: str, content: str) -> bytes:
        return self._event(f"response.content_part.{what}", **self._where(item), part=part_of(item, content))

    def _where(self, item: Item) -> dict[str, Any]:
        where: dict[str, Any] = {"item_id": self._head.item_id(item), "output_index": item.place}
        return where if item.kind == "call" else {**where, "content_index": 0}

    def _event(self, type: str, **fields: Any) -> bytes:
        told = {"type": type, "sequence_number": self._number, **fields}
        self._number += 1
        return encode(_encode(told), type.encode())
