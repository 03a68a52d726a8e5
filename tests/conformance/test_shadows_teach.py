"""Shadows of a live gateway are lessons: what they compared is in its log, and `train --from-log` learns from it."""

import asyncio
import json
from pathlib import Path

import httpx
import pytest
from servers.running_gateway import running_gateway
from typer.testing import CliRunner
from upstreams.fake_upstream import Received, Reply, chat_answer, chat_either, fake_upstream

from classifiers import artefact
from gateway.cli import app
from gateway.decisions.lessons import lessons
from gateway.decisions.read import read_log
from gateway.decisions.record import ShadowRecord
from gateway.decisions.replay import policies_beside
from gateway.settings import Decisions

COUNT, RATED = 40, 4
PRICE = "price: {input: $1/M, output: $1/M}, fits: {output: 100}"


pytestmark = pytest.mark.usefixtures("encoder")


def policy(at: str) -> str:
    return f"""
policy: 1
models:
  small: {{at: '{at}/v1', price: {{input: $0.05/M, output: $0.20/M}}, fits: {{output: 100}}}}
  large: {{at: '{at}/v1', price: {{input: $0.50/M, output: $2.00/M}}, fits: {{output: 100}}}}
  referee: {{at: '{at}/v1', price: {{input: $1/M, output: $1/M}}, can: [json_schema]}}
difficulty: {{within: 60s}}
routes:
  - name: default
    choose: {{by: difficulty, among: [small, large], target: {{cost: 45% of large}}, adapt: off}}
    explore: 60%
shadows:
  - {{name: small-too, of: large, to: small, sample: 100%, limits: {{cost: $5/day}}}}
  - name: large-too
    of: small
    to: large
    sample: 100%
    limits: {{cost: $5/day}}
    compare: [exact, {{judge: referee, of: 100%}}]
"""


def reply(got: Received) -> Reply:
    """Small takes B for the answer of every other question; the referee knows that it is A."""
    asked = got.json["messages"][-1]["content"]
    if got.json["model"] == "referee":
        shown = json.loads(asked)
        right = ["A" in shown[name] for name in ("first", "second")]
        better = "equal" if right[0] == right[1] else "first" if right[0] else "second"
        return chat_answer(json.dumps({"better": better}))
    is_wrong = got.json["model"] == "small" and int(asked.rsplit(" ", 1)[1]) % 2
    return chat_either("The answer ", "is B." if is_wrong else "is A.")(got)


async def asked(client: httpx.AsyncClient, i: int) -> str:
    question = f"Which of the two is right, A or B, in question {i}"
    body = {"model": "auto", "messages": [{"role": "user", "content": question}], "stream": bool(i % 3)}
    answer = await client.post("/v1/chat/completions", json=body)
    assert answer.status_code == 200, answer.text
    return answer.headers["x-turnout-request-id"]


async def test_what_shadows_compared_live_is_learned_from_the_log_alone(tmp_path: Path) -> None:
    log, out = tmp_path / "log", tmp_path / "new"
    async with (
        fake_upstream(reply) as upstream,
        running_gateway(policy(upstream.base), tmp_path, decisions=Decisions(dir=log, numbers=True)) as gateway,
        httpx.AsyncClient(base_url=gateway.base, timeout=60) as client,
    ):
        ids = await asyncio.gather(*[asked(client, i) for i in range(COUNT)])
        shadows = gateway.gateway.shadows
        assert shadows is not None
        await gateway.until(lambda _: not shadows.busy, 30)
        for request_id in ids[: 2 * RATED : 2]:
            told = await client.post("/v1/feedback", json={"request_id": request_id, "rating": "good"})
            assert told.status_code < 300, told.text

    compared = {record.request_id: record for record in read_log(log) if isinstance(record, ShadowRecord)}
    assert set(compared) == set(ids)
    ends = [compared[request_id].comes_to for request_id in ids]
    assert ends == ["other" if i % 2 else "same" for i in range(COUNT)]
    judged = [told.differs["judge"] for told in compared.values() if told.shadow == "large-too"]
    assert set(judged) <= {0, -100}

    found = lessons(lambda: read_log(log), policies_beside(log), "log")
    by_source = {source: sum(by.get(source, 0) for by in found.counts.values()) for source in ("feedback", "shadow")}
    assert by_source == {"feedback": RATED, "shadow": 2 * COUNT - RATED}
    assert all(set(row.quality) == {"small", "large"} for row in found.rows)
    worse = [row.quality["small"] < row.quality["large"] for row in found.rows]
    assert sum(worse) == COUNT / 2

    trained = CliRunner().invoke(app, ["train", "--from-log", str(log), "--out", str(out), "--threads", "1"])
    assert trained.exit_code == 0, trained.output
    assert "shadow" in trained.stdout
    opened = artefact.load(out)
    assert (opened.manifest.heads, opened.manifest.card["questions"]) == (("small", "large"), COUNT)
    scaled = CliRunner().invoke(app, ["calibrate", "--from-log", str(log), "--out", str(tmp_path / "scaled")])
    assert scaled.exit_code == 0, scaled.output
    assert "shadow" in scaled.stdout
