"""A model whose second version is broken: `uvicorn loadtests.rollback.upstream:app`, rates of errors from GOOD and BAD.

Whole answers come at once or fail with 500; streams take TOKENS tokens, one each GAP_MS, and never fail by themselves.
"""

import asyncio
import json
import os
import random
from typing import Any

from loadtests.peers.mock_upstream import FIRST, LAST, NEXT, TAIL, WHOLE, Receive, Send, _body, _start

TOKENS = int(os.environ.get("TOKENS", "80"))
GAP_S = float(os.environ.get("GAP_MS", "100")) / 1000
RATES = {"first": float(os.environ.get("GOOD", "0.005")), "second": float(os.environ.get("BAD", "0.1"))}
DRAWS = random.Random(int(os.environ.get("SEED", "7")))
BROKEN = b'{"error": {"message": "broken", "type": "server_error"}}'
JSON = [(b"content-type", b"application/json")]


async def _stream(send: Send) -> None:
    await _start(send, b"text/event-stream")
    for place in range(TOKENS):
        await send({"type": "http.response.body", "body": NEXT if place else FIRST, "more_body": True})
        await asyncio.sleep(GAP_S)
    await send({"type": "http.response.body", "body": LAST + TAIL})


async def app(scope: dict[str, Any], receive: Receive, send: Send) -> None:
    """Any POST is a chat request; anything else is a health check."""
    if scope["type"] != "http":
        return
    body = await _body(receive)
    asked = json.loads(body) if body else {}
    if asked.get("stream"):
        return await _stream(send)
    failed = DRAWS.random() < RATES.get(asked.get("model", ""), 0.0)
    await send({"type": "http.response.start", "status": 500 if failed else 200, "headers": JSON})
    await send({"type": "http.response.body", "body": BROKEN if failed else WHOLE})
