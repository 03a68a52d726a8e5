"""One question in every dialect, whole and streamed, and how each of them says that its answer is over."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from servers.plain_client import head
from upstreams.fake_upstream import DONE, Received, Reply, chat_either, chunk, event, json_reply, sse_reply

MESSAGES: list[Any] = [{"role": "user", "content": "hi"}]


@dataclass(frozen=True)
class Way:
    """`ends` are the words of which a stream has exactly one, in all; of them `well` alone says success."""

    name: str
    path: str
    body: Mapping[str, Any]
    streams: bool = True
    well: bytes = b""
    ends: tuple[bytes, ...] = ()

    def request(self, stream: bool, path: str = "") -> bytes:
        body = json.dumps({**self.body, **({"stream": True} if stream else {})}).encode()
        return head(len(body), path=(path or self.path).encode()) + body


WAYS = (
    Way(
        "chat",
        "/v1/chat/completions",
        {"model": "m", "messages": MESSAGES},
        well=b'"finish_reason":"stop"',
        ends=(b'"finish_reason":"stop"', b'data: {"error"'),
    ),
    Way(
        "messages",
        "/v1/messages",
        {"model": "m", "messages": MESSAGES, "max_tokens": 9},
        well=b"event: message_stop",
        ends=(b"event: message_stop", b"event: error"),
    ),
    Way(
        "responses",
        "/v1/responses",
        {"model": "m", "input": "hi"},
        well=b"event: response.completed",
        ends=(b"event: response.completed", b"event: response.failed", b"event: response.incomplete", b"event: error"),
    ),
    Way(
        "completions",
        "/v1/completions",
        {"model": "m", "prompt": "hi"},
        well=b'"finish_reason":"stop"',
        ends=(b'"finish_reason":"stop"', b'data: {"error"'),
    ),
    Way("embeddings", "/v1/embeddings", {"model": "m", "input": "hi"}, streams=False),
)

EVERY_WAY = [(way, stream) for way in WAYS for stream in (False, True) if way.streams or not stream]


def named(value: object) -> str:
    """Of a parameter of a test."""
    return (
        value.name
        if isinstance(value, Way)
        else "stream"
        if value is True
        else "whole"
        if value is False
        else str(value)
    )


def policy_at(base: str, **resilience: str) -> str:
    """One model that can do all of it."""
    limits = f"resilience: {json.dumps(resilience)}\n" if resilience else ""
    return f"policy: 1\nmodels: {{m: {{at: '{base}/v1', can: [embeddings, tools]}}}}\nroutes: [{{use: m}}]\n{limits}"


def first_piece(got: Received) -> bytes:
    """The first event of a stream, with a character of two bytes in it."""
    choice = {"index": 0, "finish_reason": None}
    said: dict[str, Any] = {"text": "ä"} if got.path.endswith("/v1/completions") else {"delta": {"content": "ä"}}
    return chunk(choices=[{**choice, **said}])


def good(got: Received) -> Reply:
    """What a server in good health answers."""
    if got.path.endswith("/embeddings"):
        return json_reply({"object": "list", "data": [{"index": 0, "embedding": [1.0]}]})
    if got.path.endswith("/v1/completions"):
        return good_completion(got)
    return chat_either("ok")(got)


def good_completion(got: Received) -> Reply:
    choice = {"index": 0, "text": "ok", "finish_reason": "stop"}
    if got.json.get("stream"):
        return sse_reply(event({"id": "c1", "object": "text_completion", "choices": [choice]}), DONE)
    return json_reply({"id": "c1", "object": "text_completion", "choices": [choice]})


Answering = Callable[[Received], Reply]
