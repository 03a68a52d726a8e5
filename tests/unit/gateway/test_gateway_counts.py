"""Ledger, door, owner, books: what is taken is given back, once."""

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.dialects.openai_chat.whole import WholeReader
from backends.messages import Delta, Finish, Usage, Whole, Wire
from backends.upstream import Load
from gateway.errors import Busy, Draining, Unauthorised
from gateway.live.in_force import Live
from gateway.live.replicas import Claim, Replica
from gateway.request.door import Door
from gateway.request.settle import Books, Tally, reason_of, spend_microusd
from policies.catalogue import Price
from policies.decision import Call
from policies.policy import Policy


def replica() -> Replica:
    return Replica("m", "a", "a", open=lambda: pytest.fail("nobody opens this"))


IDLE = Load()


class Resting:
    """An upstream that says what load it has, and counts how often it was closed."""

    def __init__(self, load: Load = IDLE) -> None:
        self._load = load
        self.closed = 0

    def load(self) -> Load:
        return self._load

    async def aclose(self) -> None:
        self.closed += 1


@given(st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 3)), max_size=20), st.randoms())
def test_whatever_is_claimed_is_given_back_once_in_any_order(claims: list[tuple[int, int]], rng: object) -> None:
    one = replica()
    actions = []
    for tokens, times in claims:
        claim = Claim(one, tokens)
        actions += [claim.prefilled] * times + [claim.release] * (times + 1)
    assert one.queued_tokens == sum(tokens for tokens, _ in claims)

    rng.shuffle(actions)  # type: ignore[attr-defined]  # Hypothesis gives a Random
    for action in actions:
        action()

    assert (one.running, one.queued_tokens) == (0, 0)


def test_a_replica_reports_the_larger_of_its_own_word_and_what_it_was_promised() -> None:
    one = replica()
    one.upstream = Resting(Load(queued_tokens=50, running=1))  # type: ignore[assignment]
    Claim(one, 30)
    assert one.load().queued_tokens == 50

    Claim(one, 40)

    assert (one.load().queued_tokens, one.load().running) == (70, 2)


def test_a_replica_that_lacks_or_awaits_something_is_not_ready() -> None:
    loading = replica()
    lacking = Replica("m", "a", "a", open=lambda: pytest.fail("nobody opens this"), lacks="the key is not set")

    assert loading.load() == Load(ready=False, why_not="loading")
    assert lacking.load() == Load(ready=False, why_not="the key is not set")


async def test_a_replica_that_does_not_open_says_why() -> None:
    def fails() -> None:
        raise ValueError("no such file")

    broken = Replica("m", "a", "a", open=fails, is_local=True)  # type: ignore[arg-type]

    with pytest.raises(ValueError, match="no such file"):
        await broken.open_off_loop()

    assert broken.load().why_not == "no such file"


def policy() -> Policy:
    return Policy(hash="h", name="p", models={}, routes=())


async def test_a_replica_is_closed_when_the_last_policy_that_names_it_and_its_last_request_are_gone() -> None:
    one, kept = replica(), Replica("n", "b", "b", open=lambda: pytest.fail("nobody opens this"))
    gone, stays = Resting(), Resting()
    one.upstream, kept.upstream = gone, stays  # type: ignore[assignment]
    old = Live(policy(), {"m": (one,), "n": (kept,)})
    new = Live(policy(), {"n": (kept,)})
    old.enter()

    async with asyncio.timeout(5), asyncio.TaskGroup() as tasks:
        retiring = tasks.create_task(old.retire())
        await asyncio.sleep(0)
        assert not retiring.done()
        assert gone.closed == 0
        old.leave()

    assert (gone.closed, stays.closed) == (1, 0)
    assert new.replica(Call("n", "b")) is kept


async def test_the_door_counts_refuses_and_drains() -> None:
    door = Door(2)
    door.enter()
    door.enter()
    with pytest.raises(Busy):
        door.enter()

    door.leave()
    door.drain()

    with pytest.raises(Draining):
        door.enter()
    assert door.in_flight == 1
    async with asyncio.timeout(5), asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(door.empty())
        await asyncio.sleep(0)
        assert not waiting.done()
        door.leave()


@given(
    prompt=st.integers(0, 10**6),
    cached=st.integers(0, 10**6),
    written=st.integers(0, 10**6),
    output=st.integers(0, 10**6),
    price=st.tuples(*[st.integers(0, 10**8)] * 3, st.none() | st.integers(0, 10**8)),
)
def test_spend_is_exact_to_the_microdollar_rounded_up(
    prompt: int, cached: int, written: int, output: int, price: tuple[int, int, int, int | None]
) -> None:
    cached = min(cached, prompt)
    written = min(written, prompt - cached)
    fresh = prompt - cached - written
    writing = price[0] if price[3] is None else price[3]
    exact = fresh * price[0] + cached * price[1] + written * writing + output * price[2]

    spent = spend_microusd(Price(*price), Usage(prompt, output, cached, 0, written))

    assert 0 <= spent * 1_000_000 - exact < 1_000_000


def test_the_tally_prefers_the_upstreams_count_and_estimates_what_was_cut() -> None:
    tally = Tally(prompt_tokens=7)
    assert tally.best_usage is None

    for event in (Delta("a"), Wire(b"{}", speaks=True), Wire(b"{}"), Finish("length")):
        tally.see(event)
    assert tally.best_usage == Usage(7, 2)
    assert tally.reason == "length"

    tally.see(Usage(9, 3, 1))
    assert tally.best_usage == Usage(9, 3, 1)


def test_what_the_upstream_had_counted_when_its_answer_was_cut_stands_and_of_the_answer_the_larger_count() -> None:
    tally = Tally(prompt_tokens=7)

    for event in (Wire(b"{}", counted=Usage(120, 1, 100, 0, 20)), Wire(b"{}", speaks=True), Wire(b"{}", speaks=True)):
        tally.see(event)
    assert tally.best_usage == Usage(120, 2, 100, 0, 20)

    tally.see(Wire(b"{}", counted=Usage(120, 9, 100, 0, 20)))
    assert tally.best_usage == Usage(120, 9, 100, 0, 20)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (Wire(b'{"choices":[{"index":0,"delta":{},"finish_reason": "tool_calls"}]}', finishes=True), "tool_calls"),
        (
            Whole(b'{"choices":[{"message":{"content":"\\"finish_reason\\":\\"stop\\""},"finish_reason":"length"}]}'),
            "length",
        ),
        (Whole(b'{"choices":[{"finish_reason":null}]}'), "stop"),
    ],
)
def test_the_finish_reason_is_read_from_what_passes_as_it_came(said: Wire | Whole, reason: str) -> None:
    tally = Tally(prompt_tokens=1)

    tally.see(said)

    assert tally.reason == reason


REASONS = st.sampled_from(["stop", "length", "tool_calls", "content_filter", "eos", "", None, 3, ["stop"]])
CHOICES = st.fixed_dictionaries(
    {"message": st.just({"role": "assistant", "content": "hi"})},
    optional={"index": st.just(0), "finish_reason": REASONS, "tool_calls": st.just([])},
)


@given(st.lists(CHOICES, min_size=1, max_size=3))
def test_a_finish_that_was_read_with_the_answer_is_the_one_that_stands_in_it(choices: list[object]) -> None:
    answer, *_ = WholeReader("m").correct(json.dumps({"choices": choices}).encode(), keeps_stop=False)

    assert answer.finish in (None, reason_of(answer.body))


def test_books_of_a_refusal_of_a_cut_and_of_a_client_that_left() -> None:
    asked = Call("m", "a")
    refused, cut = (
        Books("1", "openai_chat", answered_by=asked),
        Books("2", "openai_chat", attempts=1, answered_by=asked),
    )
    left, late = Books("3", "openai_chat", answered_by=asked), Books("4", "openai_chat", answered_by=asked)
    refused.failed(Unauthorised("x"), begun=False)
    cut.spoke(cut.began_at + 0.25)
    cut.failed(Busy("x"), begun=True)
    left.client_left(begun=False)
    late.spoke(late.began_at)
    late.client_left(begun=True)
    held = Books("5", "openai_chat", answered_by=asked)
    held.client_left(begun=True)

    assert (refused.close().status, refused.close().end) == (401, "rejected")
    assert (cut.close().status, cut.close().end) == (200, "error")
    assert cut.close().ttft_ms == pytest.approx(250)
    assert (left.close().status, left.close().end) == (499, "cancelled")
    assert (late.close().status, late.close().end) == (200, "cancelled")
    assert (held.close().status, held.close().end) == (200, "cancelled"), "its head was out, with a sign of life"
    assert [books.close().answered_by for books in (refused, cut, left, late, held)] == [None, asked, None, asked, None]
