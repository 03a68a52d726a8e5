"""A route that explores, through the real app: clients are told, conversations keep their tier, the log has the chances and
what a classifier reads, and decides again."""

from pathlib import Path

import httpx
import pytest
from servers.running_gateway import running_gateway
from upstreams.fake_upstream import chat_either, fake_upstream

from classifiers.embedding.encoder import DEFAULT_NAME
from classifiers.features.packing import make_of, unpack
from gateway.decisions.read import read_log
from gateway.decisions.record import DecisionRecord
from gateway.decisions.replay import policies_beside, replay
from gateway.settings import Decisions

LADDER = ("small", "large")
COUNT = 10


pytestmark = pytest.mark.usefixtures("encoder")


def exploring(at: str) -> str:
    return f"""
policy: 1
models:
  small: {{at: '{at}', price: {{input: $0.05/M, output: $0.20/M}}}}
  large: {{at: '{at}', price: {{input: $0.50/M, output: $2.00/M}}}}
difficulty: {{within: 60s}}
routes:
  - name: default
    choose: {{by: difficulty, among: [small, large], target: {{cost: 45% of large}}, adapt: off}}
    explore: 60%
"""


async def ask(client: httpx.AsyncClient, turns: list[tuple[str, str]]) -> httpx.Response:
    messages = [{"role": role, "content": text} for role, text in turns]
    answer = await client.post("/v1/chat/completions", json={"model": "auto", "messages": messages})
    assert answer.status_code == 200, answer.text
    return answer


async def test_who_was_drawn_is_told_so_and_stays_where_it_is(tmp_path: Path) -> None:
    kept = Decisions(dir=tmp_path / "log" / "a", numbers=True)
    openings = [f"hi, this is number {i}" for i in range(COUNT)]
    async with (
        fake_upstream(chat_either("ok")) as upstream,
        running_gateway(exploring(upstream.base), tmp_path, decisions=kept) as gateway,
        httpx.AsyncClient(base_url=gateway.base, timeout=60) as client,
    ):
        began = [await ask(client, [("user", text)]) for text in openings]
        went_on = [
            await ask(client, [("user", text), ("assistant", "ok"), ("user", "thanks a lot")]) for text in openings
        ]

    records = [record for record in read_log(tmp_path / "log") if isinstance(record, DecisionRecord)]
    by_id = {record.request_id: record for record in records}
    again = replay(read_log(tmp_path / "log"), policies_beside(tmp_path / "log"))
    told = 0
    for before, after in zip(began, went_on, strict=True):
        for answer in (before, after):
            record = by_id[answer.headers["x-turnout-request-id"]]
            drawn = "drawn, to explore 60% of conversations" in answer.headers["x-turnout-reason"]
            assert drawn is bool(record.decision.instead_of)
            assert record.probability == record.decision.propensity[answer.headers["x-turnout-model"]]
            told += drawn
        tiers = [LADDER.index(answer.headers["x-turnout-model"]) for answer in (before, after)]
        assert tiers == sorted(tiers)

    assert told >= 2
    assert len(records) == 2 * COUNT
    assert (again.replayed, again.differ) == (2 * COUNT, ())
    numbers = [record.numbers for record in records if record.numbers is not None]
    assert len(numbers) >= COUNT, "a question that is still being embedded at the end has none"
    assert {one.made_by for one in numbers} == {make_of(DEFAULT_NAME)}
    assert unpack(numbers).vectors.shape == (len(numbers), 384)
    for text in openings:
        assert text not in "".join(path.read_text() for path in (tmp_path / "log").rglob("*.jsonl"))
