"""From a log to a classifier that a policy can name: what counts as an outcome, and the commands."""

import json
import random
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
import pytest
from click.testing import Result
from servers.decision_log_world import TEXT, judged, keep_log, load, settlement
from typer.testing import CliRunner

from classifiers import artefact
from classifiers.embedding.encoder import DEFAULT_NAME
from classifiers.features.lexical import NAMES
from classifiers.features.numbers import Numbers
from classifiers.features.packing import make_of, pack
from classifiers.heads.inputs import Inputs
from gateway.cli import app
from gateway.decisions.asked import Asked
from gateway.decisions.labels import Label, labels_of
from gateway.decisions.lessons import lessons
from gateway.decisions.read import read_log
from gateway.decisions.record import DecisionRecord, FeedbackRecord, Outcome
from gateway.decisions.replay import policies_beside
from gateway.decisions.shadowed import MOST_WEIGHT
from gateway.request.judge import Judged
from policies.decide import decide
from policies.decision import Call

EXPLORING = TEXT.replace("    escalate: careful\n", "    explore: 50%\n").replace(
    "escalations:\n  careful: {when: {p_correct: {under: 50%}}, to: large}\n", ""
)
ENDS = ({"small": 0.6, "large": 0.7}, {"small": 0.4, "large": 0.9})
SMALL, LARGE = Call("small", "http://s0/v1"), Call("large", "http://l0/v1")


def numbers(i: int) -> Callable[[], Numbers]:
    dice = np.random.default_rng(i)
    vector = dice.standard_normal((1, 384)).astype(np.float32)
    lexical = dice.random((1, len(NAMES))).astype(np.float32)
    return lambda: pack(Inputs(vector / np.linalg.norm(vector), lexical), make_of(DEFAULT_NAME))


async def written(folder: Path, count: int, *, rated: bool = True) -> None:
    policy, kept, dice = load(EXPLORING), keep_log(folder), random.Random(1)
    kept.log.policy_loaded(policy, EXPLORING)
    for i in range(count):
        one = judged(policy, i, requested="auto", needs=frozenset(), prompt_tokens=500)
        snapshot = msgspec.structs.replace(one.snapshot, draw=dice.random())
        estimate = msgspec.structs.replace(one.estimate, earlier=(), artefact="trained", ends=ENDS)
        decision = decide(policy, one.facts, estimate, snapshot)
        model = decision.choice.model if isinstance(decision.choice, Call) else ""
        answered = settlement(i, answered_by=SMALL if model == "small" else LARGE)
        known = Asked(0.0, str(i).encode(), numbers=numbers(i))
        kept.log.settled(Judged(one.facts, estimate, decision, snapshot, {}), answered, known)
        if rated:
            rating = "good" if model == "large" or i % 2 else "bad"
            kept.log.heard(FeedbackRecord(at=one.snapshot.now, request_id=f"req_{i}", tenant="acme", rating=rating))
    await kept.close()
    assert kept.lost == []


def command(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


async def test_a_log_gives_its_outcomes_with_their_sources_and_weights(tmp_path: Path) -> None:
    await written(tmp_path, 200)

    found = lessons(lambda: read_log(tmp_path), policies_beside(tmp_path), "log")

    assert found.heads == ("small", "large")
    assert len(found.rows) == 200
    assert sum(by["feedback"] for by in found.counts.values()) == 200
    assert {round(row.weight, 6) for row in found.rows} == {round(1 / 0.75, 6), 4.0}
    assert max(row.weight for row in found.rows) <= MOST_WEIGHT
    assert all(set(row.p_good) == {"small", "large"} for row in found.rows)
    assert all((row.artefact, row.ends) == ("trained", ENDS) for row in found.rows)


async def test_the_command_trains_on_a_log_and_a_policy_can_name_what_it_wrote(tmp_path: Path) -> None:
    await written(tmp_path / "log", 160)
    out = tmp_path / "new"

    done = command("train", "--from-log", str(tmp_path / "log"), "--out", str(out), "--threads", "1")

    assert done.exit_code == 0, done.output
    opened = artefact.load(out)
    assert opened.manifest.heads == ("small", "large")
    assert opened.manifest.card["questions"] == 160
    assert "feedback" in str(opened.manifest.card["outcomes"])
    assert "feedback" in done.stdout
    assert "inverse of their choice's chance" in done.stderr
    assert opened.calibration.artefact == opened.manifest.digest[:12]


async def test_calibrating_on_a_log_says_in_json_what_it_writes_and_draws_before_beside_after(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    await written(tmp_path / "log", 160)
    words = ("--from-log", str(tmp_path / "log"), "--out", str(tmp_path / "new"), "--plots", str(tmp_path / "plots"))

    done = command("calibrate", *words, "--json")

    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout, parse_constant=pytest.fail)
    assert told == json.loads((tmp_path / "new" / "report.json").read_text())
    assert sum(told["outcomes"][model]["feedback"] for model in ("small", "large")) == 160
    assert [row[1] for row in told["rows"]] == [told["outcomes"][row[0]]["feedback"] for row in told["rows"]]
    assert set(told["curves"]["before"]) == set(told["curves"]["reliability"]) == {"small", "large"}
    assert [path.name for path in (tmp_path / "plots").iterdir()] == ["reliability.png"]


async def test_too_little_is_refused_with_what_there_is(tmp_path: Path) -> None:
    await written(tmp_path / "few", 40)
    await written(tmp_path / "mute", 40, rated=False)

    few = command("train", "--from-log", str(tmp_path / "few"), "--out", str(tmp_path / "out"))
    mute = command("calibrate", "--from-log", str(tmp_path / "mute"), "--out", str(tmp_path / "out"))
    both = command("train", "--data", "x.csv", "--from-log", str(tmp_path / "few"))
    nothing = command("train", "--from-log", str(tmp_path / "none"))

    assert few.exit_code == mute.exit_code == 1
    assert "of small," in few.stderr
    assert "30 of each model are the least" in few.stderr
    assert "no outcomes to learn from: 0 of small" in mute.stderr
    assert not (tmp_path / "out").exists()
    assert (both.exit_code, nothing.exit_code) == (2, 2)
    assert "either --data or --from-log" in both.stderr


async def test_a_log_without_its_policies_and_an_empty_one_say_so(tmp_path: Path) -> None:
    await written(tmp_path / "log", 40)
    shutil.rmtree(tmp_path / "log" / "policies")
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "20260101T000000.000000-000000.jsonl").touch()

    for verb in ("train", "calibrate"):
        bare = command(verb, "--from-log", str(tmp_path / "log"), "--out", str(tmp_path / "out"))
        none = command(verb, "--from-log", str(empty), "--out", str(tmp_path / "out"))

        assert bare.exit_code == none.exit_code == 1
        assert "no outcomes to learn from" in bare.stderr
        assert "40 decisions are left out, whose policy is not beside the log" in bare.stderr
        assert "empty has no outcomes to learn from" in none.stderr
        assert "left out" not in none.stderr


@pytest.mark.parametrize(
    "command_line", [("train", "--from-log"), ("calibrate", "--from-log"), ("weigh", "--from-log"), ("replay",)]
)
def test_a_log_that_is_not_there_is_told_in_words(command_line: tuple[str, ...], tmp_path: Path) -> None:
    told = command(*command_line, str(tmp_path / "absent"))

    assert told.exit_code == 2
    assert "absent is not there" in told.stderr
    assert "Errno" not in told.stderr


def recorded(**told: object) -> DecisionRecord:
    one = judged(load(), 0)
    outcome = Outcome(status=200, end="stop", attempts=1, duration_ms=1.0, **told)  # type: ignore[arg-type]
    return DecisionRecord(
        at=0.0, request_id="r", tenant="t", facts=one.facts, estimate=one.estimate, snapshot=one.snapshot,
        snapshot_digest="", decision=one.decision, outcome=outcome,
    )  # fmt: skip


AGAIN: dict[str, object] = {
    "answered_by": SMALL, "judgement": "turned_back", "p_correct": 0.2, "abandoned_by": SMALL,
}  # fmt: skip
"""A part was given up, the larger model failed, and the same one was asked again."""


@pytest.mark.parametrize(
    ("told", "worth", "labels"),
    [
        ({"answered_by": SMALL}, 0.5, [Label("small", 0.5, "feedback")]),
        ({"answered_by": SMALL}, None, []),
        ({"answered_by": None}, 1.0, []),
        ({"answered_by": SMALL, "judgement": "kept", "p_correct": 0.9}, None, [Label("small", 0.9, "judgement")]),
        ({"answered_by": SMALL, "judgement": "kept", "p_correct": 0.9}, 0.0, [Label("small", 0.0, "feedback")]),
        (
            {"answered_by": LARGE, "judgement": "escalated", "p_correct": 0.2, "abandoned_by": SMALL},
            1.0,
            [Label("large", 1.0, "feedback"), Label("small", 0.2, "judgement")],
        ),
        (
            {"answered_by": LARGE, "judgement": "escalated", "p_correct": 0.2, "abandoned_by": SMALL},
            None,
            [Label("small", 0.2, "judgement")],
        ),
        (AGAIN, 1.0, [Label("small", 1.0, "feedback")]),
        (AGAIN, None, [Label("small", 0.2, "judgement")]),
        (
            {**AGAIN, "answered_by": LARGE},
            0.5,
            [Label("large", 0.5, "feedback"), Label("small", 0.2, "judgement")],
        ),
        ({**AGAIN, "answered_by": LARGE}, None, [Label("small", 0.2, "judgement")]),
    ],
)
def test_what_callers_said_goes_before_what_signals_said(
    told: dict[str, object], worth: float | None, labels: list[Label]
) -> None:
    assert list(labels_of(recorded(**told), worth)) == labels


async def test_a_record_waits_for_its_numbers_and_not_for_ever(tmp_path: Path) -> None:
    """Two questions are still being embedded when they are settled: one comes, the other never does."""
    policy, made = load(EXPLORING), numbers(7)()
    known: dict[int, Numbers] = {}
    kept = keep_log(tmp_path, start=False, now=lambda: 1_800_000_001.0)
    kept.log.policy_loaded(policy, EXPLORING)
    for i in range(3):
        beside = Asked(0.0, str(i).encode(), numbers=partial(known.get, i) if i else None)
        kept.log.settled(judged(policy, 0), settlement(i), beside)

    kept.log._empty()
    first = [record.request_id for record in kept.records()]
    known[1] = made
    kept.log._empty()
    second = [record.request_id for record in kept.records()]
    kept.log.start()
    await kept.close()

    assert (first, second) == (["req_0"], ["req_0", "req_1"])
    assert [record.numbers for record in kept.records() if isinstance(record, DecisionRecord)] == [None, made, None]
