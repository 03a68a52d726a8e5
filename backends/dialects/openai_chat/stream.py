"""Events in, event-stream bytes out: the stream of chat.completion.chunk that a client reads."""

import msgspec

from backends.dialects.openai_chat.shapes import call_object, fingerprint, logprobs_object, usage_object
from backends.messages import ChatRequest, Delta, Event, Finish, TokenLogprob, ToolCall, Usage, Whole, Wire
from backends.sse import encode

DONE = b"data: [DONE]\n\n"

_encode = msgspec.json.encode


class Renderer:
    """State of one stream: who has spoken, whether it is over. Wire events pass as they are.

    The first delta of a choice carries the role, and no other. Where a stop string was met, the last chunk of a choice
    names it in `stop_reason`, as `response` does. Usage is shown only to those who asked, in one chunk
    with empty choices, every other chunk then says `usage: null`. Usage beside Wire events is for the books alone.
    """

    def __init__(self, request: ChatRequest, model: str, id: str, created: int) -> None:
        head = {"id": id, "object": "chat.completion.chunk", "created": created, "model": model}
        self._start = _encode({**head, "system_fingerprint": fingerprint(model)})[:-1] + b',"choices":['
        self._end = b'],"usage":null}' if request.include_usage else b"]}"
        self._shows_usage = request.include_usage
        self._shows_logprobs = request.sampling.logprobs
        self._begun: set[int] = set()
        self._finished: set[int] = set()
        self._relays = False
        self._over = False

    def render(self, event: Event) -> bytes:
        """Bytes for the client; empty when this event shows nothing."""
        if isinstance(event, Wire):
            self._relays = True
            return encode(event.data)
        if isinstance(event, Delta):
            return self._delta(event)
        if isinstance(event, ToolCall):
            return self._call(event)
        if isinstance(event, Finish):
            return self._finish(event)
        if isinstance(event, Usage):
            return self._usage(event)
        assert isinstance(event, Whole)
        raise ValueError("a whole answer has no place in a stream")

    def end(self) -> bytes:
        """`[DONE]`, once."""
        if self._over:
            return b""
        self._over = True
        return DONE

    def error(self, body: bytes) -> bytes:
        """An error event with this envelope, then `[DONE]`: no finish is invented."""
        return b"" if self._over else encode(body) + self.end()

    def _delta(self, event: Delta) -> bytes:
        shown = event.logprobs if self._shows_logprobs else ()
        if not event.text and not shown:
            return b""
        return self._choice(event.index, _content(event.text), shown, b"null")

    def _call(self, event: ToolCall) -> bytes:
        """In one fragment: it is whole."""
        fragment = _encode([{"index": event.place, **call_object(event)}])
        return self._choice(event.index, b'{"tool_calls":' + fragment + b"}", (), b"null")

    def _finish(self, event: Finish) -> bytes:
        if event.index in self._finished:
            return b""
        self._finished.add(event.index)
        delta = b"{}" if event.index in self._begun else _content("")
        return self._choice(event.index, delta, (), _encode(event.reason) + _told(event.stopped_by))

    def _usage(self, event: Usage) -> bytes:
        if not self._shows_usage or self._relays:
            return b""
        return encode(self._start + b'],"usage":' + _encode(usage_object(event)) + b"}")

    def _choice(self, index: int, delta: bytes, logprobs: tuple[TokenLogprob, ...], finish: bytes) -> bytes:
        if index not in self._begun:
            self._begun.add(index)
            delta = b'{"role":"assistant",' + delta[1:]
        shown = _encode(logprobs_object(logprobs)) if logprobs else b"null"
        choice = b'{"index":%d,"delta":%b,"logprobs":%b,"finish_reason":%b}' % (index, delta, shown, finish)
        return encode(self._start + choice + self._end)


def _content(text: str) -> bytes:
    return b'{"content":' + _encode(text) + b"}"


def _told(stopped_by: str) -> bytes:
    return b',"stop_reason":' + _encode(stopped_by) if stopped_by else b""
