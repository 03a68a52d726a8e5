"""A gateway that is killed: what it told of is on disk but for the last moment, whole, and decides again."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import httpx
from servers.running_gateway import one_model
from upstreams.fake_upstream import chat_either, fake_upstream

from gateway.decisions.read import read_log
from gateway.decisions.record import DecisionRecord
from gateway.decisions.replay import policies_beside, replay
from gateway.decisions.segments import segments_in

BODY = {"model": "auto", "messages": [{"role": "user", "content": "hi"}]}


def on_disk(log: Path) -> int:
    return sum(path.stat().st_size for path in segments_in(log))


async def ask(client: httpx.AsyncClient, stream: bool) -> str | None:
    """The id of the request; None while nobody answers."""
    try:
        answer = await client.post("/v1/chat/completions", json={**BODY, "stream": stream})
    except httpx.TransportError:
        return None
    assert answer.status_code == 200, answer.text
    return answer.headers["x-turnout-request-id"]


async def test_killed_it_leaves_a_log_of_its_requests_in_their_order(tmp_path: Path, unused_tcp_port: int) -> None:
    policy, log = tmp_path / "policy.yaml", tmp_path / "log"
    environment = {**os.environ, "TURNOUT_DECISIONS__DIR": str(log), "TURNOUT_TELEMETRY__LOG": "off"}
    told: list[str] = []
    async with (
        fake_upstream(chat_either("ok")) as upstream,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{unused_tcp_port}", timeout=10) as client,
        asyncio.timeout(60),
    ):
        policy.write_text(one_model(upstream.base))
        serve = ("-m", "gateway.cli", "serve", str(policy), "--port", str(unused_tcp_port))
        process = await asyncio.create_subprocess_exec(
            sys.executable, *serve, env=environment, stderr=asyncio.subprocess.DEVNULL
        )
        while on_disk(log) < 20_000:
            request_id = await ask(client, stream=bool(len(told) % 2))
            told += [request_id] if request_id else []
            await asyncio.sleep(0.01)
        process.kill()
        ended = await process.wait()

    records = [record for record in read_log(log) if isinstance(record, DecisionRecord)]
    found = replay(records, policies_beside(log))

    assert ended == -signal.SIGKILL
    assert len(records) >= 5
    assert [record.request_id for record in records] == told[: len(records)]
    assert (found.replayed, found.differ, found.without_policy) == (len(records), (), {})
    assert all(record.outcome.answered_by for record in records)
