"""What leaves, and when: nothing before the first content, one end whatever happens, comments in silence."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from backends.dialects.anthropic_messages.dialect import AnthropicMessages
from backends.dialects.dialect import Dialect
from backends.dialects.openai_chat.dialect import OpenAIChat
from backends.messages import ChatRequest, Delta, Event, Finish, Message, Usage, Wire
from gateway.errors import Disconnected
from gateway.request.egress import StreamEgress, WholeEgress
from gateway.request.ingress import AsgiEvent
from gateway.request.watch import ClientWatch
from policies.decision import Call

ASKED = ChatRequest(raw=b"", model="auto", messages=(Message(role="user", text="hi"),), stream=True)
FIRST, SECOND = Call("small", "a"), Call("large", "b")


DIALECTS: tuple[Dialect, ...] = (OpenAIChat(), AnthropicMessages())


class Client:
    """Takes ASGI events."""

    def __init__(self) -> None:
        self.events: list[AsgiEvent] = []
        self.was_kept_alive_twice = asyncio.Event()

    async def __call__(self, event: AsgiEvent) -> None:
        self.events.append(event)
        if sum(self.body.count(dialect.keep_alive) for dialect in DIALECTS) == 2:
            self.was_kept_alive_twice.set()

    @property
    def body(self) -> bytes:
        return b"".join(event.get("body", b"") for event in self.events)

    @property
    def ends(self) -> int:
        return sum(event["type"] == "http.response.body" and not event["more_body"] for event in self.events)


async def never() -> AsgiEvent:
    await asyncio.Event().wait()
    return {}


@pytest.fixture
def client() -> Client:
    return Client()


@pytest.fixture
async def stream(client: Client) -> AsyncIterator[StreamEgress]:
    egress = StreamEgress(OpenAIChat(), client, ASKED, "id", ClientWatch(never), silence_s=60)
    yield egress
    await egress.aclose()


@pytest.mark.parametrize(
    "silent", [Delta(""), Wire(b'{"choices":[]}'), Finish("stop"), Usage(1, 1)], ids=lambda event: type(event).__name__
)
async def test_nothing_leaves_before_content(stream: StreamEgress, client: Client, silent: Event) -> None:
    stream.attempt(FIRST, {})

    await stream.take(silent)

    assert client.events == []
    assert not stream.begun


async def test_what_a_replaced_attempt_said_is_forgotten(stream: StreamEgress, client: Client) -> None:
    stream.attempt(FIRST, {"x-turnout-model": "small"})
    await stream.take(Wire(b'{"from":"first"}'))

    stream.attempt(SECOND, {"x-turnout-model": "large"})
    await stream.take(Delta("hello"))
    await stream.finish()

    assert b"first" not in client.body
    assert (b"x-turnout-model", b"large") in client.events[0]["headers"]
    assert b'"model":"large"' in client.body


async def test_the_end_of_a_stream_is_one_send(stream: StreamEgress, client: Client) -> None:
    stream.attempt(FIRST, {})
    await stream.take(Delta("hello"))
    sent = len(client.events)

    for event in (Finish("stop"), Usage(1, 1)):
        await stream.take(event)
    await stream.finish()

    assert len(client.events) == sent + 1
    assert client.body.endswith(b"data: [DONE]\n\n")
    assert client.ends == 1


async def test_a_begun_stream_fails_with_one_error_event_and_no_invented_finish(
    stream: StreamEgress, client: Client
) -> None:
    stream.attempt(FIRST, {})
    await stream.take(Delta("hel"))

    await stream.fail(Disconnected("the upstream went away"))

    assert client.body.count(b'"error"') == 1
    assert b'"finish_reason":"' not in client.body
    assert client.body.endswith(b"data: [DONE]\n\n")
    assert client.ends == 1


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_sign_of_life_is_sent_in_a_long_silence_and_none_after_the_end(
    client: Client, dialect: Dialect
) -> None:
    stream = StreamEgress(dialect, client, ASKED, "id", ClientWatch(never), silence_s=0.02)
    stream.attempt(FIRST, {})
    await stream.take(Delta("a"))

    await asyncio.wait_for(client.was_kept_alive_twice.wait(), 5)
    await stream.finish()
    ended = len(client.events)
    await asyncio.sleep(0.05)

    assert len(client.events) == ended
    assert client.body.count(dialect.keep_alive) >= 2


async def test_a_whole_answer_leaves_at_once_with_its_length(client: Client) -> None:
    whole = WholeEgress(OpenAIChat(), client, ASKED, "id", ClientWatch(never))
    whole.attempt(FIRST, {"x-turnout-model": "small"})
    for event in (Delta("hel"), Delta("lo"), Finish("stop"), Usage(1, 2)):
        await whole.take(event)
    assert client.events == []

    await whole.finish()

    assert (b"content-length", b"%d" % len(client.body)) in client.events[0]["headers"]
    assert b'"content":"hello"' in client.body


async def test_a_whole_answer_that_fails_never_began(client: Client) -> None:
    whole = WholeEgress(OpenAIChat(), client, ASKED, "id", ClientWatch(never))
    whole.attempt(FIRST, {})

    with pytest.raises(Disconnected):
        await whole.fail(Disconnected("cut"))

    assert client.events == []
