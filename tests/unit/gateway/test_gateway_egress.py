"""What leaves, and when: nothing before the first content, one end whatever happens, comments in silence."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping

import pytest

from backends.dialects.anthropic_messages.dialect import AnthropicMessages
from backends.dialects.dialect import Dialect
from backends.dialects.openai_chat.dialect import OpenAIChat
from backends.messages import ChatRequest, Delta, Event, Finish, Message, Usage, Wire
from backends.sse import KEEP_ALIVE
from gateway.errors import Disconnected
from gateway.request.egress import Egress, StreamEgress, speaks
from gateway.request.whole_egress import WholeEgress
from policies.decision import Call

ASKED = ChatRequest(raw=b"", model="auto", messages=(Message(role="user", text="hi"),), stream=True)
FIRST, SECOND = Call("small", "a"), Call("large", "b")


DIALECTS: tuple[Dialect, ...] = (OpenAIChat(), AnthropicMessages())


class Client:
    """Takes what leaves, and reads it at once."""

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}
        self.pieces: list[bytes] = []
        self.ends = 0
        self.has_room = True
        self.begun = False
        self.whole_body: bytes | None = None
        self.was_kept_alive_twice = asyncio.Event()
        self.showed_life_twice = asyncio.Event()

    async def room(self) -> None:
        """There always is."""

    def carries(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """No page is behind it."""

    def answer(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.begin(status, headers)
        self.write(body, more=False)

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        assert not self.begun
        self.begun, self.headers = True, dict(headers)

    def write(self, data: bytes, *, more: bool = True) -> None:
        self.pieces.append(data)
        self.ends += not more
        if sum(self.body.count(dialect.keep_alive) for dialect in DIALECTS) == 2:
            self.was_kept_alive_twice.set()
        if self.body.count(KEEP_ALIVE) == 2:
            self.showed_life_twice.set()

    @property
    def body(self) -> bytes:
        return b"".join(self.pieces)


def take(egress: Egress, *events: Event) -> None:
    """As they come, one at a time."""
    for event in events:
        egress.take((event,), speaks=speaks(event))


@pytest.fixture
def client() -> Client:
    return Client()


@pytest.fixture
async def stream(client: Client) -> AsyncIterator[StreamEgress]:
    egress = StreamEgress(OpenAIChat(), client, ASKED, "id", silence_s=60)
    yield egress
    egress.close()


@pytest.mark.parametrize(
    "silent", [Delta(""), Wire(b'{"choices":[]}'), Finish("stop"), Usage(1, 1)], ids=lambda event: type(event).__name__
)
async def test_nothing_leaves_before_content(stream: StreamEgress, client: Client, silent: Event) -> None:
    stream.attempt(FIRST, {})

    take(stream, silent)

    assert client.pieces == []
    assert not stream.begun


async def test_what_a_replaced_attempt_said_is_forgotten(stream: StreamEgress, client: Client) -> None:
    stream.attempt(FIRST, {"x-turnout-model": "small"})
    take(stream, Wire(b'{"from":"first"}'))

    stream.attempt(SECOND, {"x-turnout-model": "large"})
    take(stream, Delta("hello"))
    stream.finish()

    assert b"first" not in client.body
    assert client.headers["x-turnout-model"] == "large"
    assert b'"model":"large"' in client.body


async def test_the_end_of_a_stream_is_one_write(stream: StreamEgress, client: Client) -> None:
    stream.attempt(FIRST, {})
    take(stream, Delta("hello"))
    sent = len(client.pieces)

    take(stream, Finish("stop"), Usage(1, 1))
    stream.finish()

    assert len(client.pieces) == sent + 1
    assert client.body.endswith(b"data: [DONE]\n\n")
    assert client.ends == 1


async def test_a_begun_stream_fails_with_one_error_event_and_no_invented_finish(
    stream: StreamEgress, client: Client
) -> None:
    stream.attempt(FIRST, {})
    take(stream, Delta("hel"))

    await stream.fail(Disconnected("the upstream went away"))

    assert client.body.count(b'"error"') == 1
    assert b'"finish_reason":"' not in client.body
    assert client.body.endswith(b"data: [DONE]\n\n")
    assert client.ends == 1


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_sign_of_life_is_sent_in_a_long_silence_and_none_after_the_end(
    client: Client, dialect: Dialect
) -> None:
    stream = StreamEgress(dialect, client, ASKED, "id", silence_s=0.02)
    stream.attempt(FIRST, {})
    take(stream, Delta("a"))

    await asyncio.wait_for(client.was_kept_alive_twice.wait(), 5)
    stream.finish()
    ended = len(client.pieces)
    await asyncio.sleep(0.05)

    assert len(client.pieces) == ended
    assert client.body.count(dialect.keep_alive) >= 2


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_held_answer_shows_life_ahead_of_who_answers(client: Client, dialect: Dialect) -> None:
    """Before its first event a comment, in each dialect; the head of whoever was announced does not come after it."""
    stream = StreamEgress(dialect, client, ASKED, "id", silence_s=0.02)
    stream.hold({"x-turnout-route": "r"})
    stream.attempt(FIRST, {"x-turnout-model": "small"})

    await asyncio.wait_for(client.showed_life_twice.wait(), 5)
    assert (stream.is_open, stream.begun) == (True, False)
    assert client.body == KEEP_ALIVE * client.body.count(KEEP_ALIVE)
    stream.attempt(SECOND, {"x-turnout-model": "large"})
    take(stream, Delta("hello"))
    stream.finish()

    assert client.headers["x-turnout-route"] == "r"
    assert "x-turnout-model" not in client.headers
    assert b"hello" in client.body
    assert b'"model":"large"' in client.body
    assert client.ends == 1


async def test_an_answer_that_is_soon_there_has_the_head_of_who_answers(client: Client) -> None:
    stream = StreamEgress(OpenAIChat(), client, ASKED, "id", silence_s=60)
    stream.hold({"x-turnout-route": "r"})
    stream.attempt(FIRST, {"x-turnout-model": "small"})
    take(stream, Delta("hello"))
    stream.finish()

    assert client.headers["x-turnout-model"] == "small"


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_held_answer_that_fails_after_a_sign_of_life_ends_in_words(client: Client, dialect: Dialect) -> None:
    stream = StreamEgress(dialect, client, ASKED, "id", silence_s=0.02)
    stream.hold({})
    stream.attempt(FIRST, {})
    await asyncio.wait_for(client.showed_life_twice.wait(), 5)

    await stream.fail(Disconnected("the upstream went away"))

    assert client.body.count(b'"error":') == 1
    assert client.ends == 1


async def test_a_whole_answer_leaves_at_once(client: Client) -> None:
    whole = WholeEgress(OpenAIChat(), client, ASKED, "id")
    whole.attempt(FIRST, {"x-turnout-model": "small"})
    take(whole, Delta("hel"), Delta("lo"), Finish("stop"), Usage(1, 2))
    assert client.pieces == []

    whole.finish()

    assert (len(client.pieces), client.ends) == (1, 1)
    assert b'"content":"hello"' in client.body


async def test_a_whole_answer_that_fails_never_began(client: Client) -> None:
    whole = WholeEgress(OpenAIChat(), client, ASKED, "id")
    whole.attempt(FIRST, {})

    with pytest.raises(Disconnected):
        await whole.fail(Disconnected("cut"))

    assert client.pieces == []
