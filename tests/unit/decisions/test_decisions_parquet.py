"""A log as a table: every decision once, with what callers said of it, in types that any tool reads."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet
import pytest
from servers.decision_log_world import TEXT, judged, keep_log, load, only_decisions, settlement
from typer.testing import CliRunner

from gateway.cli import app
from gateway.decisions.parquet import COLUMNS, export
from gateway.decisions.read import read_log
from gateway.decisions.record import FeedbackRecord, Record, SignalRecord
from policies.decision import Call


async def written(folder: Path, count: int) -> None:
    policy, kept = load(), keep_log(folder)
    kept.log.policy_loaded(policy, TEXT)
    for i in range(count):
        answered_by = None if i % 5 == 0 else Call("small", "http://s0/v1")
        kept.log.settled(judged(policy, i), settlement(i, answered_by=answered_by))
    for rating in ("good", "bad"):
        kept.log.heard(FeedbackRecord(at=2e9, request_id="req_1", tenant="acme", rating=rating))
    kept.log.heard(FeedbackRecord(at=2e9, request_id="req_2", tenant="other", rating="good"))
    await kept.close()


def reading(folder: Path, *more: Record) -> Callable[[], list[Record]]:
    return lambda: [*read_log(folder), *more]


@pytest.mark.parametrize("rows", [7, 10_000])
async def test_every_decision_is_a_row_with_what_was_said_of_it(rows: int, tmp_path: Path) -> None:
    await written(tmp_path, 40)
    signal = SignalRecord(at=1.0, request_id="req_3", tenant="acme", signal="regenerated", version=1, by="req_4")

    count = export(reading(tmp_path, signal), tmp_path / "log.parquet", rows_at_once=rows)

    records = only_decisions(list(read_log(tmp_path)))
    table = pyarrow.parquet.read_table(tmp_path / "log.parquet").to_pylist()
    assert count == len(table) == 40
    assert list(table[0]) == list(COLUMNS)
    for row, record in zip(table, records, strict=True):
        assert row["request_id"] == record.request_id
        assert row["at"].timestamp() == pytest.approx(record.at)
        assert dict(row["p_good"]) == pytest.approx(dict(record.estimate.p_good))
        assert row["answered_by"] == (record.outcome.answered_by and record.outcome.answered_by.model)
    assert {row["request_id"]: row["worth"] for row in table if row["worth"] is not None} == {"req_1": 0.0}
    assert {row["request_id"]: row["signals"] for row in table if row["signals"]} == {"req_3": ["regenerated"]}


async def test_the_command_writes_it_and_a_log_is_still_shown_without_a_word(tmp_path: Path) -> None:
    await written(tmp_path / "log", 20)

    log, out = str(tmp_path / "log"), str(tmp_path / "t.parquet")
    done = CliRunner().invoke(app, ["decisions", "export", log, "--parquet", out])
    shown = CliRunner().invoke(app, ["decisions", log, "--json"])
    nothing = CliRunner().invoke(app, ["decisions", "export", f"{log}-none", "--parquet", f"{out}-none"])

    assert (done.exit_code, shown.exit_code, nothing.exit_code) == (0, 0, 2)
    assert "20 decisions written" in done.stderr
    assert pyarrow.parquet.read_metadata(tmp_path / "t.parquet").num_rows == 20
    assert '"decisions": 20' in shown.stdout


WITHOUT = """
import sys
sys.modules["pyarrow"] = None
from gateway.cli import main
main()
"""


async def test_without_pyarrow_it_says_what_to_install(tmp_path: Path) -> None:
    await written(tmp_path / "log", 1)
    words = ["decisions", "export", str(tmp_path / "log"), "--parquet", str(tmp_path / "t.parquet")]

    done = await asyncio.create_subprocess_exec(sys.executable, "-c", WITHOUT, *words, stderr=asyncio.subprocess.PIPE)
    _, told = await done.communicate()

    assert done.returncode == 1
    assert b"pip install -e '.[classify]'" in told
    assert not (tmp_path / "t.parquet").exists()
