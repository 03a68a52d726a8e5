"""Events are passed on as they come, neither gathered nor packed, whoever speaks which dialect."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from servers.running_gateway import running_gateway
from upstreams.fake_messages import STOP, block, ending, start
from upstreams.fake_upstream import DONE, Step, Until, fake_upstream, finish_chunk, sse_reply, text_chunk

WORDS = ("one", "two", "three")
BODY = {"model": "m", "max_tokens": 9, "stream": True, "messages": [{"role": "user", "content": "hi"}]}


def steps(dialect: str, released: list[asyncio.Event]) -> list[Step]:
    """A word, then nothing until the client has it."""
    if dialect == "openai_chat":
        pieces = [text_chunk(word) for word in WORDS]
        last = [finish_chunk(), DONE]
    else:
        opening = {"type": "text", "text": ""}
        pieces = [block(n, opening, {"type": "text_delta", "text": word}) for n, word in enumerate(WORDS)]
        pieces[0] = start() + pieces[0]
        last = [ending(), STOP]
    paired = [step for piece, event in zip(pieces, released, strict=True) for step in (piece, Until(event))]
    return [*paired, *last]


async def read_until(word: str, texts: AsyncIterator[str]) -> None:
    seen = ""
    while word not in seen:
        seen += await anext(texts)


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
@pytest.mark.parametrize("dialect", ["openai_chat", "anthropic"])
async def test_each_event_is_read_before_the_server_says_the_next(dialect: str, path: str, tmp_path: Path) -> None:
    released = [asyncio.Event() for _ in WORDS]
    async with fake_upstream(sse_reply(*steps(dialect, released))) as upstream:
        model = f"{{at: '{upstream.base}', dialect: {dialect}, fits: {{output: 64}}}}"
        policy = f"policy: 1\nmodels: {{m: {model}}}\nroutes: [{{use: m}}]\n"
        async with running_gateway(policy, tmp_path) as gateway, httpx.AsyncClient(timeout=10) as client:
            headers = {"accept-encoding": "gzip"}
            async with client.stream("POST", gateway.base + path, json=BODY, headers=headers) as answer:
                texts = answer.aiter_text()
                for word, event in zip(WORDS, released, strict=True):
                    await read_until(word, texts)
                    event.set()
                rest = "".join([text async for text in texts])
            await gateway.until_empty()

    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-cache"
    assert not {"content-length", "content-encoding"} & set(answer.headers)
    assert rest.rstrip().endswith("[DONE]" if path == "/v1/chat/completions" else '{"type":"message_stop"}')
