"""Twenty thousand cascaded answers on a virtual clock, with everything going wrong that can: one voice, one end, in time."""

import random
from collections import Counter
from collections.abc import Iterator

import msgspec
import pytest
from servers.cascade_world import PLAN, Beat, Came, Scripted, Stage
from servers.virtual_time import run_virtual

from backends.errors import UpstreamError
from backends.messages import Delta, Event, Finish, TokenLogprob, Usage, Whole, Wire

STREAMS, PART = 20_000, 5_000
SLACK_S = 0.005


def told(text: str, logprob: float | None) -> Delta:
    return Delta(text, 0, () if logprob is None else (TokenLogprob(text, text.encode(), logprob),))


def on_wire(event: Event) -> Event:
    """The same as a remote server says it."""
    if isinstance(event, Delta):
        logprobs = {"content": [{"token": t.token, "logprob": t.logprob} for t in event.logprobs]}
        choice = {"index": 0, "delta": {"content": event.text}, "logprobs": logprobs, "finish_reason": None}
        return Wire(msgspec.json.encode({"id": "c", "choices": [choice]}), speaks=bool(event.text))
    if isinstance(event, Finish):
        choice = {"index": 0, "delta": {}, "finish_reason": event.reason}
        return Wire(msgspec.json.encode({"id": "c", "choices": [choice]}), finishes=True)
    return event


def beats(rng: random.Random, letter: str, doubt: float, faults: bool) -> Iterator[Beat]:
    """An answer in words of one letter, which ends in one of many ways."""
    count = rng.choice((0, 1, 2, 5, 6, 7, 12))
    logprob = rng.choice((None, -0.05, -doubt))
    pause = rng.choice((0.0, 0.0, 0.001, 0.02, 0.15, 1.0))
    ends = rng.random() if faults else 1.0
    dies_at = rng.randrange(count + 2) if ends < 0.3 else -1
    remote = rng.random() < 0.5
    if ends < 0.06:
        yield 0.0, UpstreamError("overloaded", "busy", sent=False)
        return
    for i in range(count):
        if i == dies_at:
            yield pause, UpstreamError("stream_cut", "cut", sent=True)
            return
        event = told(letter * rng.randrange(1, 4) + " ", logprob)
        yield pause * rng.random(), on_wire(event) if remote else event
    if dies_at >= count:
        yield pause, UpstreamError("gap_timeout", "silent", sent=True)
        return
    finish = Finish(rng.choice(("stop", "length", "content_filter")))
    yield 0.0, on_wire(finish) if remote else finish
    yield 0.0, Usage(10, count)


def whole(rng: random.Random, letter: str) -> Iterator[Beat]:
    text = rng.choice(("", letter * 5, f"I can't help. {letter}"))
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    yield 0.3, Whole(msgspec.json.encode({"choices": [choice]}))
    yield 0.0, Usage(10, 5)


async def one(number: int, stage: Stage, seen: Counter[str]) -> None:
    rng = random.Random(number)
    stream = rng.random() < 0.85
    in_one_piece = not stream and rng.random() < 0.5
    first = list(whole(rng, "s") if in_one_piece else beats(rng, "s", 4.0, faults=True))
    second = list(beats(rng, "s", 4.0, faults=rng.random() < 0.3)) if not in_one_piece else first
    bigger = list(whole(rng, "L") if in_one_piece else beats(rng, "L", 0.1, faults=rng.random() < 0.5))
    small, large = Scripted(first, second), Scripted(bigger)
    leaves = rng.random() * 0.6 if rng.random() < 0.15 else None

    came = await stage.play(small, large, stream=stream, leaves_after_s=leaves)

    assert_one_voice(came, number)
    assert_one_end(came, number)
    if came.client.pieces and came.books.judgement in ("kept", "over_limit") and stream:
        first_at = small.answers[0].first_at
        assert first_at is not None
        assert came.client.pieces[0][0] <= first_at + PLAN.hold_s + SLACK_S, number
    for answer in (*small.answers, *large.answers):
        assert answer.closed_at is not None, f"stream {number} left an answer open"
    if came.books.abandoned_by is not None and large.answers:
        assert small.answers[0].closed_at <= large.answers[0].first_at if large.answers[0].first_at else True, number
    seen[came.books.judgement or "unjudged"] += 1
    seen["left" if came.left else "failed" if came.error else "answered"] += 1


def assert_one_voice(came: Came, number: int) -> None:
    text = came.client.text
    voices = {letter for letter in text if letter in "sL"}
    assert len(voices) < 2, f"stream {number} speaks with two voices: {text}"
    if voices:
        speaker = "large" if "L" in voices else "small"
        assert came.client.headers["x-turnout-model"] == speaker, number


def assert_one_end(came: Came, number: int) -> None:
    whole_answer = came.error is None and not came.left
    assert came.client.ends == int(whole_answer), f"stream {number} has {came.client.ends} ends"
    done = came.client.body.count(b"data: [DONE]")
    assert done <= 1, number
    assert (came.client.status == 200) == bool(came.client.pieces), number


@pytest.mark.parametrize("first", range(0, STREAMS, PART))
def test_no_cascaded_stream_speaks_with_two_voices_or_ends_twice_or_comes_late(first: int) -> None:
    seen: Counter[str] = Counter()

    async def play() -> None:
        stages = Stage(), Stage(msgspec.structs.replace(PLAN, early_under=0.9))
        for number in range(first, first + PART):
            await one(number, stages[number % 2], seen)

    run_virtual(play())

    assert min(seen[kind] for kind in ("kept", "escalated", "turned_back", "left", "failed", "answered")) > 50, seen
