"""A server of Anthropic's Messages over time: pings are signs of life, comments are none; the clocks are virtual."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from servers.virtual_time import run_virtual
from upstreams.fake_messages import STOP, ending, start, text_block, told

from backends.dialects.anthropic_messages.request import read_messages
from backends.dialects.anthropic_messages.server.server import MessagesServer
from backends.dialects.openai_chat.request import read_chat
from backends.errors import UpstreamError
from backends.messages import ChatRequest, Event, Usage
from backends.remote import RemoteUpstream
from backends.transport import HttpRequest
from backends.upstream import Prepared, TimeLimits, UpstreamCall

BODY = json.dumps(
    {"model": "m", "max_tokens": 9, "stream": True, "messages": [{"role": "user", "content": "q"}]}
).encode()
LIMITS = TimeLimits(first_content_s=10.0, gap_s=10.0, total_s=1_000.0)
PING, COMMENT = told({"type": "ping"}), b": still here\n\n"
Step = bytes | float
"""What is written, or seconds of silence."""


class Slow:
    """A response that comes as its steps say."""

    status = 200
    done = is_packed = False
    headers: Mapping[str, str] = {"content-type": "text/event-stream"}

    def __init__(self, steps: list[Step]) -> None:
        self._steps = steps

    async def read(self) -> bytes:
        while self._steps:
            step = self._steps.pop(0)
            if isinstance(step, bytes):
                return step
            await asyncio.sleep(step)
        return b""

    async def aclose(self, *, whole: bool = False) -> None:
        self._steps.clear()


class Wire:
    """A transport whose only answer is `response`."""

    def __init__(self, response: Slow) -> None:
        self.response = response
        self.asked: list[HttpRequest] = []

    async def open(self, request: HttpRequest, connect_s: float) -> Slow:
        self.asked.append(request)
        return self.response

    async def aclose(self) -> None:
        """Nothing is open."""


async def answer_of(request: ChatRequest, *steps: Step) -> list[Event]:
    server = MessagesServer("m", "theirs", 64, now=lambda: 1.0)
    upstream = RemoteUpstream(model="m", at="http://a", transport=Wire(Slow(list(steps))), dialect=server)
    call = UpstreamCall(request=request, prepared=Prepared(tokens=1, exact=False), limits=LIMITS)
    return [event async for event in await upstream.start(call)]


READS = [read_messages, read_chat]


@pytest.mark.parametrize("read", READS)
def test_pings_keep_a_silent_answer_alive(read: Any) -> None:
    async def scene() -> None:
        slow: list[Step] = [7.0, PING, 7.0, PING, 7.0, PING, 7.0]
        events = await answer_of(read(BODY), start(), text_block(0, "T"), *slow, ending(), STOP)

        assert isinstance(events[-1], Usage)

    run_virtual(scene())


@pytest.mark.parametrize("read", READS)
def test_comments_do_not(read: Any) -> None:
    async def scene() -> None:
        slow: list[Step] = [7.0, COMMENT, 7.0, COMMENT]
        with pytest.raises(UpstreamError) as failed:
            await answer_of(read(BODY), start(), text_block(0, "T"), *slow, ending(), STOP)

        assert failed.value.kind == "gap_timeout"

    run_virtual(scene())


@pytest.mark.parametrize("read", READS)
def test_nor_do_pings_put_off_the_first_content(read: Any) -> None:
    async def scene() -> None:
        with pytest.raises(UpstreamError) as failed:
            await answer_of(read(BODY), start(), *[step for _ in range(9) for step in (3.0, PING)], text_block(0, "T"))

        assert failed.value.kind == "first_content_timeout"

    run_virtual(scene())


@pytest.mark.parametrize("read", READS)
def test_what_comes_behind_the_end_is_not_waited_for(read: Any) -> None:
    async def scene() -> None:
        events = await answer_of(read(BODY), start(), text_block(0, "T"), ending(), STOP, 9_999.0, PING)

        assert isinstance(events[-1], Usage)
        assert asyncio.get_running_loop().time() < 1.0

    run_virtual(scene())


def test_a_request_that_has_no_words_there_is_never_sent() -> None:
    async def scene() -> None:
        wire = Wire(Slow([]))
        server = MessagesServer("m", "theirs", 64)
        upstream = RemoteUpstream(model="m", at="http://a", transport=wire, dialect=server)
        body = json.dumps({**json.loads(BODY), "n": 2}).encode()
        call = UpstreamCall(request=read_chat(body), prepared=Prepared(tokens=1, exact=False))

        with pytest.raises(UpstreamError) as refused:
            await upstream.start(call)

        assert (refused.value.kind, refused.value.param, refused.value.sent) == ("unsupported", "n", False)
        assert wire.asked == []
        assert upstream.load().running == 0

    run_virtual(scene())
