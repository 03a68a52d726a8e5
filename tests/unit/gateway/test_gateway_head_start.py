"""A head start for the larger model: taken over with what it has, or closed unseen, and charged either way."""

import msgspec
from servers.cascade_world import PLAN, Beat, Came, Scripted, Stage
from servers.virtual_time import run_virtual

from backends.errors import UpstreamError
from backends.messages import Delta, Finish, TokenLogprob, Usage

EARLY = msgspec.structs.replace(PLAN, early_under=0.9, hold_s=5.0)
SURE, DOUBTFUL, LOST = -0.05, -2.0, -5.0


def tokens(*logprobs: float) -> list[Beat]:
    said = [(0.1, Delta("s ", 0, (TokenLogprob("s", b"s", logprob),))) for logprob in logprobs]
    return [*said, (0.0, Finish("stop")), (0.0, Usage(100, len(logprobs)))]


def large(after_s: float = 0.5) -> Scripted:
    return Scripted([(after_s, Delta("L")), (0.0, Finish("stop")), (0.0, Usage(100, 1))])


def play(small: list[Beat], bigger: Scripted, **options: object) -> tuple[Came, Scripted]:
    first, came = Scripted(small), []

    async def ask() -> None:
        came.append(await Stage(EARLY).play(first, bigger, **options))

    run_virtual(ask())
    return came[0], first


def test_what_looks_bad_at_half_of_the_window_is_overtaken_without_waiting() -> None:
    came, _ = play(tokens(LOST, LOST, LOST, LOST, LOST, LOST, LOST), bigger := large())
    assert came.client.text == "L"
    assert len(bigger.calls) == 1
    assert came.books.attempts == 2
    # Asked at the third token, 0.3 s: 0.3 s sooner than at the verdict.
    assert abs(came.client.pieces[0][0] - 0.6 - 0.5) < 0.31
    assert came.books.beside_microusd == 0


def test_what_recovers_is_sent_and_the_head_start_is_closed_at_the_verdict_and_charged() -> None:
    came, _ = play(tokens(SURE, DOUBTFUL, DOUBTFUL, SURE, SURE, SURE, SURE, SURE), bigger := large(after_s=30))
    assert "L" not in came.client.text
    assert came.books.judgement == "kept"
    assert [round(answer.closed_at or 0, 3) for answer in bigger.answers] == [0.6]
    assert came.books.beside_usage == Usage(17, 0)
    assert came.books.beside_microusd == 17 * 10


def test_what_is_sure_gives_nobody_a_head_start() -> None:
    came, _ = play(tokens(*[SURE] * 8), bigger := large())
    assert bigger.calls == []
    assert came.books.beside_microusd == 0


def test_a_head_start_that_failed_is_as_a_call_that_failed() -> None:
    away = Scripted([(0.0, UpstreamError("overloaded", "busy", sent=False))])
    came, small = play(tokens(*[LOST] * 6), away)
    assert came.client.text.count("s") == 6
    assert came.books.judgement == "turned_back"
    assert came.books.abandoned is not None
    assert len(small.calls) == 2


def test_a_small_model_that_dies_is_overtaken_by_what_has_begun() -> None:
    dying: list[Beat] = [*tokens(LOST, LOST, LOST)[:3], (0.1, UpstreamError("stream_cut", "cut", sent=True))]
    came, _ = play(dying, bigger := large())
    assert came.client.text == "L"
    assert len(bigger.calls) == 1


def test_a_client_that_leaves_ends_both() -> None:
    came, small = play(tokens(*[LOST] * 3, *[SURE] * 3), bigger := large(after_s=9), leaves_after_s=0.45)
    assert came.left
    assert [answer.closed_at for answer in (*small.answers, *bigger.answers)] == [0.45, 0.45]
