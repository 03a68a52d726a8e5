"""However many requests there were, no more is held than after some: objects are counted by their type, with every kind of
request in between, and connections that come and go."""

import asyncio
import gc
import logging
from collections import Counter
from pathlib import Path

import pytest
from servers.plain_client import Socket, chat_body, connected
from servers.running_gateway import RunningGateway, one_model, running_gateway
from upstreams.fake_upstream import Received, Reply, Until, chat_either, fake_upstream, sse_reply, text_chunk

TURNS = 40
PAGES = (b"/healthz", b"/readyz", b"/metrics", b"/v1/models", b"/nothing")
HANGS, BREAKS = "hangs", "breaks"


def answer(got: Received) -> Reply:
    """As the prompt asks for."""
    asked = got.json["messages"][0]["content"]
    if asked == HANGS:
        return sse_reply(text_chunk("hi"), Until(asyncio.Event()))
    return Reply((b"no HTTP\r\n\r\n",), framing="raw") if asked == BREAKS else chat_either("hi")(got)


async def every_kind(client: Socket, gateway: RunningGateway) -> None:
    """Whole and streamed, left in the middle, failed, refused, and the pages."""
    await client.ask(chat_body())
    await client.until(b'"total_tokens":10}}')
    await client.ask(chat_body(stream=True))
    await client.until(b"[DONE]\n\n\r\n0\r\n\r\n")
    async with connected(gateway.port) as leaves:
        await leaves.ask(chat_body(stream=True, text=HANGS))
        await leaves.until(b'"hi"')
        leaves.kill()
    async with connected(gateway.port) as other:
        for body in (chat_body(text=BREAKS), b"{"):
            await other.ask(body)
            await other.until(b'"error"')
        for page in PAGES:
            await other.send(b"GET %b HTTP/1.1\r\nhost: localhost\r\n\r\n" % page)
            await other.until(b"\r\n\r\n")
    await gateway.until_empty()


def counted() -> Counter[str]:
    gc.collect()
    return Counter(f"{type(one).__module__}.{type(one).__qualname__}" for one in gc.get_objects())


async def test_after_twice_as_many_requests_no_more_objects_are_held(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, "turnout")  # what is logged is kept for this test's report
    async with (
        fake_upstream(answer) as upstream,
        running_gateway(one_model(upstream.base), tmp_path) as gateway,
        connected(gateway.port) as client,
    ):
        counts = []
        for _ in range(2):
            for _ in range(TURNS):
                await every_kind(client, gateway)
            upstream.received.clear()
            counts.append(counted())

    before, after = counts
    assert {name: more for name, more in (after - before).items() if more >= TURNS / 2} == {}
