"""Feedback: the last word that rates counts, saying it twice changes nothing, and no key floods the log."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.decisions.lately import Lately
from gateway.decisions.record import FeedbackRecord
from gateway.decisions.segments import Segments, began_at, segments_in
from gateway.decisions.turnstile import KEYS, Turnstile
from gateway.decisions.worth import worths


def said(at: float = 1.0, request_id: str = "req_0", tenant: str = "acme", **told: object) -> FeedbackRecord:
    return FeedbackRecord(at=at, request_id=request_id, tenant=tenant, **told)  # type: ignore[arg-type]


def test_what_becomes_of_a_word_is_told_as_it_is() -> None:
    lately, told = Lately(), []
    lately.answered("acme", "req_0", at=100.0)
    words = [
        said(rating="good"), said(2.0, rating="good"), said(comment_chars=4), said(rating="bad"),
        said(tenant="other", rating="bad"), said(request_id="req_1", score=0.5),
    ]  # fmt: skip
    for word in words:
        told.append(lately.standing(word, since=0.0))
        if told[-1] != "unchanged":
            lately.heard(word)

    assert told == ["accepted", "unchanged", "accepted", "replaced", "unverified", "unverified"]


@pytest.mark.parametrize(("since", "standing"), [(0.0, "accepted"), (100.5, "accepted"), (102.0, "expired")])
def test_a_decision_that_is_kept_no_longer_has_no_use_for_words(since: float, standing: str) -> None:
    lately = Lately()
    lately.answered("acme", "req_0", at=100.0)

    assert lately.standing(said(rating="good"), since) == standing


def test_the_oldest_requests_are_forgotten() -> None:
    lately = Lately(most=3)
    for i in range(5):
        lately.answered("acme", f"req_{i}", at=1.0)

    told = [lately.standing(said(request_id=f"req_{i}", rating="good"), 0.0) for i in range(5)]

    assert told == ["unverified"] * 2 + ["accepted"] * 3


def test_segments_know_what_is_gone(tmp_path: Path) -> None:
    clock = iter(range(100))
    segments = Segments(
        tmp_path, segment_bytes=10, segment_s=1e9, total_bytes=30, now=lambda: float(next(clock))
    )  # fmt: skip
    gone = []
    for _ in range(6):
        segments.append(b"123456789\n")
        gone.append(segments.since)
    segments.close()

    assert gone[:2] == [0.0, 0.0]
    assert gone[-1] == began_at(segments_in(tmp_path)[0]) > 0


WORDS = st.lists(
    st.builds(
        said,
        at=st.integers(0, 5).map(float),
        rating=st.none() | st.sampled_from(["good", "bad"]),
        score=st.none() | st.sampled_from([0.0, 0.25, 1.0]),
        corrected=st.none() | st.booleans(),
        comment_chars=st.integers(0, 1),
    ),
    max_size=8,
)


@given(WORDS)
def test_the_last_word_that_rates_counts(words: list[FeedbackRecord]) -> None:
    rating = [
        (word.at, i, word.score if word.score is not None else {"good": 1.0, "bad": 0.0}.get(word.rating or "", 0.0))
        for i, word in enumerate(words)
        if word.score is not None or word.rating is not None or word.corrected
    ]
    expected = {("acme", "req_0"): max(rating)[2]} if rating else {}

    assert worths(words) == expected


@given(st.integers(1, 100), st.lists(st.floats(0, 20), min_size=1, max_size=300))
def test_no_key_passes_more_often_than_its_rate_and_its_burst_allow(per_minute: int, gaps: list[float]) -> None:
    turnstile, now, passed = Turnstile(per_minute), 0.0, 0
    for gap in gaps:
        now += gap
        passed += turnstile.wait_s(b"k", now) == 0

    assert passed <= per_minute + now * per_minute / 60 + 1e-6


@given(st.integers(1, 100))
def test_who_waits_as_long_as_told_passes(per_minute: int) -> None:
    turnstile = Turnstile(per_minute)
    while not (wait_s := turnstile.wait_s(b"k", 5.0)):
        pass

    assert turnstile.wait_s(b"other", 5.0) == 0
    assert turnstile.wait_s(b"k", 5.0 + wait_s * 0.99) > 0
    assert turnstile.wait_s(b"k", 5.0 + wait_s * 1.01) == 0


def test_keys_are_bounded() -> None:
    turnstile = Turnstile(1)
    assert turnstile.wait_s(b"first", 0.0) == 0
    assert turnstile.wait_s(b"first", 0.0) > 0
    for i in range(KEYS):
        turnstile.wait_s(str(i).encode(), 0.0)

    assert len(turnstile._buckets) == KEYS
    assert turnstile.wait_s(b"first", 0.0) == 0
