"""A time limit that ends its block as asyncio's own does, wherever it is moved to."""

import asyncio

import pytest

from gateway.request.deadline import Deadline


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_a_block_that_takes_too_long_is_timed_out() -> None:
    with pytest.raises(TimeoutError), Deadline(now() + 0.01):
        await asyncio.Event().wait()

    assert asyncio.current_task().cancelling() == 0  # type: ignore[union-attr]


@pytest.mark.parametrize("first_s", [0.0, 60.0], ids=["later", "sooner"])
async def test_a_moved_deadline_counts_where_it_was_moved_to(first_s: float) -> None:
    began = now()

    async def moves() -> None:
        with Deadline(began + first_s) as deadline:
            deadline.reschedule(began + 0.02)
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await moves()
    assert now() >= began + 0.02


async def test_a_block_that_ends_in_time_leaves_nothing_behind() -> None:
    with Deadline(now() + 0.01):
        await asyncio.sleep(0)

    await asyncio.sleep(0.02)

    assert asyncio.current_task().cancelling() == 0  # type: ignore[union-attr]


async def test_a_cancellation_from_elsewhere_stays_one() -> None:
    async def waits() -> None:
        with Deadline(now() + 60):
            await asyncio.Event().wait()

    task = asyncio.create_task(waits())
    await asyncio.sleep(0)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
