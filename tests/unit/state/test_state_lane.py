"""One connection's exchanges: questions never stand behind a pile of work, and no exchange holds more of it than is allowed."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.state.lane import LABOUR, TOGETHER, Lane, Script
from gateway.state.redis_index import SCRIPTS


class Exchanges:
    """A link whose server answers an exchange when it is told to; `held` are those that it got."""

    def __init__(self) -> None:
        self.held: list[list[tuple[Any, ...]]] = []
        self.free = asyncio.Event()
        self.fails = False

    async def client(self) -> "Exchanges":
        return self

    async def drop(self) -> None: ...

    async def aclose(self) -> None: ...

    @contextlib.asynccontextmanager
    async def pipeline(self, *, transaction: bool) -> AsyncIterator["Pipeline"]:
        assert not transaction
        yield Pipeline(self)


class Pipeline:
    def __init__(self, exchanges: Exchanges) -> None:
        self._exchanges = exchanges
        self._commands: list[tuple[Any, ...]] = []

    def execute_command(self, *words: Any) -> None:
        self._commands.append(words)

    async def execute(self, *, raise_on_error: bool) -> Sequence[Any]:
        assert not raise_on_error
        self._exchanges.held.append(self._commands)
        await self._exchanges.free.wait()
        if self._exchanges.fails:
            raise ConnectionResetError
        return [words[-1] for words in self._commands]


LEARN = Script(SCRIPTS / "learn.lua")


def labour_of(exchange: Sequence[tuple[Any, ...]]) -> int:
    return sum(int(words[-1]) for words in exchange if words[0] == "EVALSHA")


@given(work=st.lists(st.integers(1, LABOUR), max_size=30), questions=st.integers(0, 2 * TOGETHER))
def test_every_exchange_is_bounded_and_every_caller_gets_its_own_reply(work: list[int], questions: int) -> None:
    async def play() -> None:
        link = Exchanges()
        link.free.set()
        lane = Lane(link)  # type: ignore[arg-type]
        toil = [asyncio.create_task(lane.run(LEARN, ["k"], [amount], labour=amount)) for amount in work]
        asked = [asyncio.create_task(lane.ask("GET", number)) for number in range(questions)]
        assert await asyncio.gather(*toil) == work
        assert await asyncio.gather(*asked) == list(range(questions))
        assert all(labour_of(exchange) <= LABOUR for exchange in link.held)
        assert all(sum(words[0] == "GET" for words in exchange) <= TOGETHER for exchange in link.held)
        await lane.aclose()

    asyncio.run(play())


async def test_a_question_does_not_wait_for_the_work_that_was_there_before_it() -> None:
    link = Exchanges()
    lane = Lane(link)  # type: ignore[arg-type]
    toil = [asyncio.create_task(lane.run(LEARN, ["k"], [LABOUR], labour=LABOUR)) for _ in range(40)]
    await asyncio.sleep(0)
    question = asyncio.create_task(lane.ask("GET", "me"))
    await asyncio.sleep(0)
    link.free.set()

    assert await question == "me"
    assert ("GET", "me") in link.held[1], "it goes out with the exchange after the one that was under way"
    await asyncio.gather(*toil)
    await lane.aclose()


async def test_what_takes_long_is_given_up_with_the_connection_and_questions_try_again() -> None:
    link = Exchanges()
    lane = Lane(link)  # type: ignore[arg-type]
    toil = [asyncio.create_task(lane.run(LEARN, ["k"], [LABOUR], labour=LABOUR)) for _ in range(40)]
    await asyncio.sleep(0)
    link.fails = True
    link.free.set()

    for each in toil:
        with pytest.raises(ConnectionResetError):
            await each
    link.fails = False
    assert await lane.ask("GET", "me") == "me"
    assert len(link.held) == 2
    await lane.aclose()
