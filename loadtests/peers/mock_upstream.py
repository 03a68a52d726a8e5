"""A chat server that answers at once: TOKENS tokens, one each GAP_MS, streamed or whole. Raw ASGI, so that it is cheap.

Run by `uvicorn loadtests.peers.mock_upstream:app`; TOKENS and GAP_MS come from the environment, and STALLS, the share of
streams that say nothing for STALL_MS.
"""

import asyncio
import json
import os
import random
from collections.abc import Awaitable, Callable
from typing import Any

Send = Callable[[dict[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[dict[str, Any]]]

TOKENS = int(os.environ.get("TOKENS", "16"))
GAP_S = float(os.environ.get("GAP_MS", "0")) / 1000
STALLS = float(os.environ.get("STALLS", "0"))
STALL_S = float(os.environ.get("STALL_MS", "0")) / 1000
HEAD = {"id": "chatcmpl-mock", "object": "chat.completion.chunk", "created": 1, "model": "mock"}
USAGE = {"prompt_tokens": 9, "completion_tokens": TOKENS, "total_tokens": 9 + TOKENS}


def _event(choices: list[dict[str, Any]], **more: Any) -> bytes:
    return b"data: " + json.dumps({**HEAD, "choices": choices, **more}).encode() + b"\n\n"


def _delta(delta: dict[str, str], finish: str | None = None) -> bytes:
    return _event([{"index": 0, "delta": delta, "finish_reason": finish}])


FIRST = _delta({"role": "assistant", "content": "tok "})
NEXT = _delta({"content": "tok "})
LAST = _delta({}, "stop")
TAIL = _event([], usage=USAGE) + b"data: [DONE]\n\n"
MESSAGE = {"role": "assistant", "content": "tok " * TOKENS}
WHOLE = json.dumps(
    {
        **HEAD,
        "object": "chat.completion",
        "usage": USAGE,
        "choices": [{"index": 0, "message": MESSAGE, "finish_reason": "stop"}],
    }
).encode()


async def _body(receive: Receive) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body


async def _start(send: Send, kind: bytes) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", kind)]})


async def _stream(send: Send) -> None:
    if STALLS and random.random() < STALLS:
        await asyncio.sleep(STALL_S)
    await _start(send, b"text/event-stream")
    for i in range(TOKENS):
        if i and GAP_S:
            await asyncio.sleep(GAP_S)
        await send({"type": "http.response.body", "body": FIRST if i == 0 else NEXT, "more_body": True})
    await send({"type": "http.response.body", "body": LAST + TAIL})


async def app(scope: dict[str, Any], receive: Receive, send: Send) -> None:
    """Any POST is a chat request; anything else is a health check."""
    if scope["type"] != "http":
        return
    body = await _body(receive)
    if scope["method"] == "POST" and b'"stream":true' in body.replace(b" ", b""):
        return await _stream(send)
    await _start(send, b"application/json")
    await send({"type": "http.response.body", "body": WHOLE})
