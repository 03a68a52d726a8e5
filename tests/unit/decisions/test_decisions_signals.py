"""What callers say without words, by its definitions."""

from hypothesis import given
from hypothesis import strategies as st
from servers.decision_log_world import settlement

from backends.messages import ChatRequest, Message
from backends.remote.prompt import LONG_CHARS
from gateway.decisions.asked import Asked, key_of
from gateway.decisions.record import SignalRecord
from gateway.decisions.signals import AGAIN_WITHIN_S, VERSIONS, Signals
from gateway.request.identity import Principal

ACME, OTHER = Principal(salt=b"acme"), Principal(salt=b"other")


def over(signals: Signals, i: int, at: float, end_at: float, key: bytes = b"k", **told: object) -> list[SignalRecord]:
    return list(signals.over(Asked(at, key), settlement(i, **told), end_at))


@given(st.floats(0, 2 * AGAIN_WITHIN_S, allow_nan=False))
def test_the_same_again_within_ten_minutes_of_the_end_is_regenerated_and_later_is_not(after: float) -> None:
    signals = Signals()

    first = over(signals, 1, 0.0, 100.0)
    second = over(signals, 2, 100.0 + after, 200.0 + after)

    assert first == []
    told = [(one.signal, one.request_id, one.by) for one in second]
    within = (100.0 + after) - 100.0 <= AGAIN_WITHIN_S
    assert told == ([("regenerated", "req_1", "req_2")] if within else [])


def test_a_second_request_beside_the_first_asks_nothing_again() -> None:
    signals = Signals()

    over(signals, 1, 0.0, 100.0)

    assert over(signals, 2, 50.0, 120.0) == []


def test_after_an_error_it_is_a_retry_and_each_answer_is_told_of_once() -> None:
    signals = Signals()

    told = [over(signals, i, 10.0 * i, 10.0 * i + 5, end="error" if i == 0 else "stop") for i in range(3)]

    assert [[(one.signal, one.request_id) for one in each] for each in told] == [
        [],
        [("retried", "req_0")],
        [("regenerated", "req_1")],
    ]


def test_a_stream_that_was_left_after_its_beginning_is_abandoned() -> None:
    left = {"end": "cancelled", "stream": True, "ttft_ms": 5.0}

    told = [over(Signals(), i, 0.0, 1.0, **{**left, **other}) for i, other in enumerate(
        ({}, {"stream": False}, {"ttft_ms": None}, {"end": "stop"})
    )]  # fmt: skip

    assert [[one.signal for one in each] for each in told] == [["abandoned"], [], [], []]


def test_every_signal_has_a_version_and_the_memory_is_bounded() -> None:
    signals = Signals(most=10)
    for i in range(100):
        over(signals, i, 0.0, 1.0, key=str(i).encode())

    assert over(signals, 200, 2.0, 3.0, key=b"89") == []
    assert len(over(signals, 201, 2.0, 3.0, key=b"99")) == 1
    assert set(VERSIONS.values()) == {1}


TEXT = st.text(max_size=20) | st.text(max_size=2).map(lambda text: text + "x" * LONG_CHARS)


@given(st.lists(TEXT, min_size=1, max_size=4), st.lists(TEXT, min_size=1, max_size=4))
def test_a_key_stands_for_what_was_said_and_by_whom_and_hangs_on_a_secret(one: list[str], other: list[str]) -> None:
    asked = [
        ChatRequest(raw=b"", model="auto", messages=tuple(Message(role="user", text=t) for t in turns))
        for turns in (one, other)
    ]

    keys = [key_of(request, ACME, b"secret") for request in asked]

    assert (keys[0] == keys[1]) is (one == other)
    assert key_of(asked[0], OTHER, b"secret") != keys[0] != key_of(asked[0], ACME, b"another")
