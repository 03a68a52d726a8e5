"""Deadlines of an attempt: each is called by its name, pushed ones cost no timer, and who cancels from outside is heard."""

import asyncio
import socket

import pytest
import uvloop
from hypothesis import given
from hypothesis import strategies as st
from servers.virtual_time import run_virtual

from backends.errors import UpstreamError
from backends.remote.clocks import Clocks
from backends.transport.alarms import Alarms
from backends.upstream import TimeLimits

NEVER_S = 3_600.0


def limits(*, first_content_s=NEVER_S, gap_s=NEVER_S, total_s=NEVER_S) -> TimeLimits:
    return TimeLimits(connect_s=1.0, first_content_s=first_content_s, gap_s=gap_s, total_s=total_s)


class CountedLoop(asyncio.SelectorEventLoop):
    """Counts the timers that are set."""

    timers = 0

    def call_at(self, *args, **kwargs):
        self.timers += 1
        return super().call_at(*args, **kwargs)


def run(work):
    loop = CountedLoop()
    try:
        return loop.run_until_complete(work(loop))
    finally:
        loop.close()


@pytest.mark.parametrize(
    ("given", "streams", "kind"),
    [
        ({"first_content_s": 0.0}, True, "first_content_timeout"),
        ({"total_s": 0.0}, True, "total_timeout"),
        ({"total_s": 0.0}, False, "total_timeout"),
    ],
)
def test_a_missed_deadline_is_called_by_its_name_and_leaves_the_task_whole(given, streams, kind) -> None:
    async def work(loop):
        clocks = Clocks(limits(**given), streams=streams)
        with pytest.raises(UpstreamError) as missed:
            await clocks.wait(loop.create_future(), clocks.deadline() if streams else clocks.total())
        return missed.value.kind, asyncio.current_task().cancelling()

    assert run(work) == (kind, 0)


def test_the_gap_counts_from_the_first_content_on() -> None:
    async def work(loop):
        clocks = Clocks(limits(gap_s=0.0), streams=True)
        clocks.spoke()
        with pytest.raises(UpstreamError) as missed:
            await clocks.wait(loop.create_future(), clocks.deadline())
        return missed.value.kind

    assert run(work) == "gap_timeout"


def test_waiting_for_many_events_sets_one_timer_and_the_end_leaves_none() -> None:
    async def work(loop):
        clocks = Clocks(limits(), streams=True)
        for number in range(100):
            came = loop.create_future()
            loop.call_soon(came.set_result, number)
            assert await clocks.wait(came, clocks.deadline()) == number
            clocks.spoke()
        clocks.stop()
        return loop.timers, [timer for timer in loop._scheduled if not timer.cancelled()]

    assert run(work) == (1, [])


def test_attempts_with_shared_alarms_set_one_timer_and_the_ends_leave_nobody_waiting() -> None:
    async def work(loop):
        alarms = Alarms(loop)
        for number in range(100):
            clocks = Clocks(limits(total_s=NEVER_S + number / 10), streams=False, alarms=alarms)
            came = loop.create_future()
            loop.call_soon(came.set_result, number)
            assert await clocks.wait(came, clocks.total()) == number
            clocks.stop()
        return loop.timers, alarms.waiting

    assert run(work) == (1, 0)


attempts = st.tuples(
    st.floats(0, 20),  # begins
    st.floats(0, 30),  # may take
    st.floats(0, 40),  # would take
    st.booleans(),  # one more deadline, pushed by an event half-way
)


@given(st.lists(attempts, max_size=8))
def test_shared_alarms_change_nothing_of_who_is_late_and_when(asked) -> None:
    async def attempt(loop, alarms, one):
        begins, may_take, would_take, pushed = one
        await asyncio.sleep(begins)
        clocks = Clocks(limits(gap_s=may_take), streams=True, alarms=alarms)
        clocks.spoke()
        try:
            if pushed:
                await clocks.wait(asyncio.sleep(may_take / 2), clocks.deadline())
            await clocks.wait(asyncio.sleep(would_take), clocks.deadline())
        except UpstreamError as error:
            return error.kind, loop.time()
        finally:
            clocks.stop()
        return "", loop.time()

    def outcomes(shares):
        came = []

        async def work():
            loop = asyncio.get_running_loop()
            alarms = Alarms(loop) if shares else None
            came.extend(await asyncio.gather(*[attempt(loop, alarms, one) for one in asked]))
            assert alarms is None or alarms.waiting == 0

        run_virtual(work())
        return came

    assert outcomes(True) == [(kind, pytest.approx(at)) for kind, at in outcomes(False)]


def test_a_deadline_that_was_pushed_is_kept_when_the_timer_rings_before_it() -> None:
    async def work(loop):
        clocks = Clocks(limits(), streams=True)
        now = loop.time()
        soon = loop.create_future()
        loop.call_soon(soon.set_result, None)
        await clocks.wait(soon, (now + 0.01, "gap_timeout"))
        with pytest.raises(UpstreamError):
            await clocks.wait(loop.create_future(), (now + 0.03, "gap_timeout"))
        return loop.time() - now

    assert run(work) >= 0.03


def test_who_cancels_from_outside_is_heard_even_when_the_timer_rings_too() -> None:
    async def work(loop):
        clocks = Clocks(limits(), streams=True)
        waits = loop.create_task(clocks.wait(loop.create_future(), (loop.time(), "gap_timeout")))
        await asyncio.sleep(0)
        clocks._ring()
        waits.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waits

    run(work)


def test_a_failure_in_the_instant_of_the_ring_is_told_as_it_is() -> None:
    async def work(loop):
        clocks = Clocks(limits(), streams=True)

        async def fails():
            try:
                await loop.create_future()
            except asyncio.CancelledError:
                raise ValueError("lost") from None

        with pytest.raises(ValueError, match="lost"):
            await clocks.wait(fails(), (loop.time(), "gap_timeout"))
        return asyncio.current_task().cancelling()

    assert run(work) == 0


@pytest.mark.parametrize("new_loop", [CountedLoop, uvloop.new_event_loop])
def test_what_came_while_our_own_loop_stood_still_is_read_and_no_silence(new_loop) -> None:
    async def work(loop, ours, theirs):
        clocks = Clocks(limits(gap_s=0.01), streams=True)
        clocks.spoke()

        def stands_still():
            theirs.send(b"spoken")
            until = loop.time() + 0.05
            while loop.time() < until:
                pass

        loop.call_soon(stands_still)
        return await clocks.wait(loop.sock_recv(ours, 6), clocks.deadline())

    loop, (ours, theirs) = new_loop(), socket.socketpair()
    ours.setblocking(False)
    with ours, theirs:
        assert loop.run_until_complete(work(loop, ours, theirs)) == b"spoken"
    loop.close()
