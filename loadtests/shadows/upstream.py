"""A server that answers every kind of request at once, chats as the peers' mock: `uvicorn loadtests.shadows.upstream:app`."""

import json
from typing import Any

from loadtests.peers import mock_upstream
from loadtests.peers.mock_upstream import TOKENS, USAGE, Receive, Send, _body, _start


def _completion(text: str, finish: str | None, **more: Any) -> bytes:
    choice = {"index": 0, "text": text, "finish_reason": finish, "logprobs": None}
    head = {"id": "cmpl-mock", "object": "text_completion", "created": 1, "model": "mock"}
    return json.dumps({**head, "choices": [choice], **more}).encode()


TEXT_WHOLE = _completion("tok " * TOKENS, "stop", usage=USAGE)
TEXT_NEXT = b"data: " + _completion("tok ", None) + b"\n\n"
TEXT_LAST = b"data: " + _completion("", "stop") + b"\n\n"
TEXT_TAIL = b"data: " + json.dumps({**json.loads(_completion("", None)), "choices": [], "usage": USAGE}).encode()
TEXT_TAIL += b"\n\ndata: [DONE]\n\n"
VECTORS = json.dumps(
    {
        "object": "list",
        "model": "mock",
        "data": [{"object": "embedding", "index": 0, "embedding": [0.25, -0.5, 1.0]}],
        "usage": {"prompt_tokens": 9, "total_tokens": 9},
    }
).encode()


async def app(scope: dict[str, Any], receive: Receive, send: Send) -> None:
    path = scope.get("path", "")
    if path.endswith("/chat/completions") or scope.get("method") != "POST":
        return await mock_upstream.app(scope, receive, send)
    body = await _body(receive)
    if path.endswith("/embeddings"):
        await _start(send, b"application/json")
        await send({"type": "http.response.body", "body": VECTORS})
    elif b'"stream":true' in body.replace(b" ", b""):
        await _start(send, b"text/event-stream")
        for _ in range(TOKENS):
            await send({"type": "http.response.body", "body": TEXT_NEXT, "more_body": True})
        await send({"type": "http.response.body", "body": TEXT_LAST + TEXT_TAIL})
    else:
        await _start(send, b"application/json")
        await send({"type": "http.response.body", "body": TEXT_WHOLE})
