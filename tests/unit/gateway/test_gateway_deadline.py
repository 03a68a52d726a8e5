"""A deadline that is moved a thousand times rings once, when it is over."""

import asyncio

from servers.virtual_time import run_virtual

from gateway.connection.deadline import NEVER, Deadline


def test_it_rings_when_it_is_over_however_often_it_was_moved() -> None:
    rung: list[float] = []

    async def follow() -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        deadline = Deadline(loop, lambda: rung.append(loop.time() - began))
        for _ in range(10):
            deadline.within(5.0)
            await asyncio.sleep(1.0)
        await asyncio.sleep(100.0)
        assert deadline.due == NEVER

    run_virtual(follow())

    assert [round(moment, 3) for moment in rung] == [14.0]


def test_one_that_was_taken_away_says_nothing_and_one_that_was_set_again_does() -> None:
    rung: list[float] = []

    async def follow() -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        deadline = Deadline(loop, lambda: rung.append(loop.time() - began))
        deadline.within(5.0)
        deadline.due = NEVER
        await asyncio.sleep(20.0)
        deadline.within(3.0)
        await asyncio.sleep(20.0)

    run_virtual(follow())

    assert [round(moment, 3) for moment in rung] == [23.0]


def test_an_earlier_one_does_not_wait_for_the_later_one() -> None:
    rung: list[float] = []

    async def follow() -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        deadline = Deadline(loop, lambda: rung.append(loop.time() - began))
        deadline.within(75.0)
        deadline.within(10.0)
        await asyncio.sleep(200.0)

    run_virtual(follow())

    assert [round(moment, 3) for moment in rung] == [10.0]


def test_none_rings_after_it_was_closed() -> None:
    rung: list[None] = []

    async def follow() -> None:
        deadline = Deadline(asyncio.get_running_loop(), lambda: rung.append(None))
        deadline.within(5.0)
        deadline.close()
        deadline.within(1.0)
        await asyncio.sleep(20.0)

    run_virtual(follow())

    assert rung == []
