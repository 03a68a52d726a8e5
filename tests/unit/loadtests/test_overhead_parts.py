"""The pure parts of the overhead race: answers cut anywhere, moments inside streams, medians, goals, slopes."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classifiers.artefact import SHIPPED, load
from loadtests.overhead.contenders import BY_DIFFICULTY, BY_NAME, found
from loadtests.overhead.report import GOALS, cell, goals, lines
from loadtests.overhead.rounds import Plan, added, medians
from loadtests.overhead.soak import slope
from loadtests.overhead.upstream import ANSWER, CHOICE, LAST, STREAM_HEAD, token
from loadtests.overhead.wire import PROMPTS, Answer, Stamps, body, request
from policies.language.load import load_policy

ROLE = b'"content":"@%d@"'
MOMENTS = [10**12 + 7 * number for number in range(20)]
STREAM = STREAM_HEAD + b"".join([token(ROLE, moment) for moment in MOMENTS]) + LAST


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    places = [0, *sorted({cut % len(data) for cut in cuts}), len(data)]
    return [data[start:end] for start, end in pairwise(places)]


CUTS = st.lists(st.integers(0, 10_000), max_size=30)


@given(CUTS)
def test_a_whole_answer_is_whole_however_it_is_cut(cuts) -> None:
    answer = Answer()
    *before, last = [piece for piece in pieces(ANSWER, cuts) if piece]
    for piece in before:
        answer.feed(piece)
        assert not answer.is_over
    answer.feed(last)
    assert answer.is_good


@given(CUTS)
def test_every_moment_of_a_stream_is_found_once_however_it_is_cut(cuts) -> None:
    answer, stamps, seen = Answer(), Stamps(), []
    for piece in pieces(STREAM, cuts):
        seen += stamps.feed(answer.feed(piece))
    assert seen == MOMENTS
    assert answer.is_good


def test_an_error_and_a_stream_that_breaks_off_are_no_good_answers() -> None:
    refused, cut = Answer(), Answer()
    refused.feed(ANSWER.replace(b"200 OK", b"503 No"))
    cut.feed(STREAM_HEAD + token(ROLE, 10**12) + b"0\r\n\r\n")
    assert (refused.is_over, refused.is_good) == (True, False)
    assert (cut.is_over, cut.is_good) == (True, False)


@given(st.integers(300, 100_000), st.integers(0, PROMPTS - 1), st.booleans())
def test_a_body_has_its_size_and_its_number(size, number, stream) -> None:
    made = body(size, number, stream=stream)
    assert abs(len(made) - size) < 8
    assert json.loads(made)["stream"] is stream
    assert f"Number {number}." in json.loads(made)["messages"][0]["content"]
    assert request("h", made).endswith(made)


def test_an_event_of_the_upstream_is_a_chunk_of_chat_completions() -> None:
    event = token(ROLE, 5).split(b"\r\n")[1].removeprefix(b"data: ")
    assert json.loads(event)["choices"][0]["delta"] == {"content": "@5@"}
    assert json.loads(CHOICE % (b"", b"null"))["finish_reason"] is None
    assert json.loads(ANSWER.partition(b"\r\n\r\n")[2])["usage"]["total_tokens"] == 240


@pytest.mark.parametrize("text", [BY_DIFFICULTY, BY_NAME])
def test_the_policies_of_the_race_are_policies(text) -> None:
    filled = text.format(upstream="http://a:1", other="http://b:2")
    loaded = load_policy(filled, name="race", calibrate=lambda _: load(SHIPPED).calibration)
    assert loaded.policy is not None, [problem.render() for problem in loaded.problems]


def test_what_is_added_is_of_the_same_round_and_the_same_quantile() -> None:
    names = ("p50_ms_c1", "p99_ms_c1", "ttft_p50_ms_64", "ttft_p99_ms_64")
    through, bare = dict.fromkeys(names, 5.0), dict(zip(names, (1.0, 2.0, 3.0, 4.0), strict=True))
    assert [value for name, value in added(through, bare).items() if name.startswith("added")] == [4.0, 3.0, 2.0, 1.0]
    assert medians([{"a": 3.0}, {"a": 9.0}, {"a": 4.0}]) == {"a": 4.0}


def test_a_shorter_plan_has_the_same_proportions() -> None:
    plan = Plan(rounds=5)
    assert plan.scaled(0.5).round_s == plan.round_s / 2
    assert plan.scaled(0.5).rounds == 5


def test_goals_are_judged_against_who_was_there_and_no_others() -> None:
    ours = {goal.figure: 1.0 for goal in GOALS} | {"rps_1kb_c64": 100.0}
    verdicts = goals({"turnout": ours, "plain_httpx": {"rps_1kb_c64": 5.0, "added_p50_ms_c1": 2.0}})
    assert verdicts["rps_1kb_c64 >= 20 x plain_httpx"] == {"value": 20.0, "met": True}
    assert verdicts["added_p50_ms_c1 <= 0.2 x plain_httpx"] == {"value": 0.5, "met": False}
    assert not any("vllm" in name or "sglang" in name for name in verdicts)


def test_the_report_names_every_peer() -> None:
    peers = {"turnout": {"rss_mb": 90.0}, "plain_httpx": {"rss_mb": 50.0}}
    assert cell(peers) == "turnout: MB 90; plain_httpx: MB 50"
    assert [line.split()[0] for line in lines(peers) if line.strip()] == ["MB", "turnout", "plain_httpx", "met"]


@given(st.floats(-5, 5), st.floats(-100, 100), st.integers(2, 50))
def test_the_slope_of_a_line_is_its_own(rise, start, count) -> None:
    times = [float(at) for at in range(count)]
    assert slope(times, [start + rise * at for at in times]) == pytest.approx(rise, abs=1e-6)


def test_peers_are_found_where_they_are_said_to_be() -> None:
    commands = found({"vllm-router": "/opt/vllm-router"})
    assert {"turnout", "plain_httpx", "vllm_rr", "vllm_cache"} <= set(commands)
