"""SIGTERM: answers under way are finished, new requests are sent elsewhere, then the process ends."""

import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest
from engine.stub_models import Logits, PrefixModel, StubVocabulary
from servers.in_process import in_process_gateway
from servers.plain_client import chat_body, connected
from servers.running_gateway import one_model, running_gateway
from upstreams.fake_upstream import DONE, FakeUpstream, Until, fake_upstream, finish_chunk, sse_reply, text_chunk

from backends.engine.api import Step

SERVE = """
import sys
from pathlib import Path
from gateway.serve import serve
from gateway.settings import Settings, Telemetry
serve(Settings(policy=Path(sys.argv[1]), port=int(sys.argv[2]), telemetry=Telemetry(log="off")))
"""


async def test_draining_refuses_new_requests_and_finishes_old_ones(tmp_path: Path) -> None:
    go_on = asyncio.Event()
    slow = sse_reply(text_chunk("a"), Until(go_on), finish_chunk(), DONE)
    async with (
        fake_upstream(slow) as upstream,
        running_gateway(one_model(upstream.base), tmp_path) as gateway,
        connected(gateway.port) as old,
        connected(gateway.port) as new,
        connected(gateway.port) as probe,
    ):
        await old.ask(chat_body(stream=True))
        await old.until(b'"a"')

        gateway.gateway.door.drain()

        await new.ask(chat_body())
        refused = await new.rest()
        await probe.send(b"GET /readyz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        not_ready = await probe.status()
        go_on.set()
        ending = await old.until(b"[DONE]")

    assert b" 503 " in refused
    assert b"retry-after: 1" in refused
    assert b"connection: close" in refused
    assert b'"code":"draining"' in refused
    assert not_ready == 503
    assert b"error" not in ending


class SlowModel(PrefixModel):
    def forward(self, step: Step) -> Logits:
        time.sleep(0.002)
        return super().forward(step)


async def test_an_engine_of_this_process_ends_the_answers_that_it_began(tmp_path: Path) -> None:
    model = SlowModel(blocks=64, vocab_size=64)
    body = json.loads(chat_body(stream=True)) | {"max_tokens": 60, "stream_options": {"include_usage": True}}
    async with (
        in_process_gateway(model, StubVocabulary(eos=None), tmp_path) as (gateway, _),
        connected(gateway.port) as old,
        connected(gateway.port) as new,
    ):
        await old.ask(json.dumps(body).encode())
        await old.until(b'"content"')
        gateway.gateway.door.drain()
        await new.ask(chat_body())
        refused = await new.status()
        ending = await old.rest()

    assert refused == 503
    assert b'"finish_reason":"length"' in ending
    assert b'"completion_tokens":60' in ending
    assert b"[DONE]" in ending
    assert b'"error"' not in ending


@pytest.mark.parametrize("begun", [True, False])
async def test_what_outlasts_the_drain_ends_with_an_honest_error(begun: bool, tmp_path: Path) -> None:
    endless = sse_reply(*[text_chunk("a")] * begun, Until(asyncio.Event()))
    async with (
        fake_upstream(endless) as upstream,
        running_gateway(one_model(upstream.base), tmp_path, drain_s=0.1) as gateway,
        connected(gateway.port) as client,
    ):
        await client.ask(chat_body(stream=True))
        await upstream.until(lambda seen: len(seen.received) == 1)
        if begun:
            await client.until(b'"a"')

        gateway.gateway.door.drain()
        ending = await asyncio.wait_for(client.rest(), 10)

        await gateway.until_empty()
        await upstream.until(lambda seen: seen.open_connections == 0)

    assert b'"code":"draining"' in ending
    assert ending.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n") if begun else b" 503 " in ending


async def test_a_server_that_stopped_before_it_was_ready_has_no_address(tmp_path: Path) -> None:
    """The start still asks for it, to tell that it is ready."""
    async with fake_upstream() as upstream, running_gateway(one_model(upstream.base), tmp_path) as gateway:
        assert gateway.server.url == gateway.base

    assert gateway.server.url is None


async def until_it_answers(port: int) -> None:
    async with asyncio.timeout(30):
        while True:
            try:
                async with connected(port) as client:
                    await client.send(b"GET /readyz HTTP/1.1\r\nhost: localhost\r\n\r\n")
                    if await client.status() == 200:
                        return
            except (ConnectionError, IndexError):
                pass
            await asyncio.sleep(0.05)


@pytest.mark.skipif(os.name != "posix", reason="POSIX signals")
async def test_a_process_that_gets_sigterm_ends_in_good_order(tmp_path: Path, unused_tcp_port: int) -> None:
    go_on = asyncio.Event()
    slow = sse_reply(text_chunk("a"), Until(go_on), finish_chunk(), DONE)
    policy = tmp_path / "policy.yaml"
    async with fake_upstream(slow) as upstream:
        policy.write_text(one_model(upstream.base))
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", SERVE, str(policy), str(unused_tcp_port), stderr=asyncio.subprocess.PIPE
        )
        try:
            await until_it_answers(unused_tcp_port)
            ending = await ask_and_terminate(process, upstream, unused_tcp_port, go_on)
            code = await asyncio.wait_for(process.wait(), 10)
        finally:
            if process.returncode is None:
                process.kill()
        assert process.stderr is not None
        told = await process.stderr.read()

    assert b"[DONE]" in ending
    assert code == 0, told.decode()
    assert b"Traceback" not in told, told.decode()


@pytest.mark.parametrize("closed", ["2>&-", ">&- 2>&-"])
async def test_a_gateway_whose_output_is_closed_serves(tmp_path: Path, unused_tcp_port: int, closed: str) -> None:
    """As some daemons start others. Its logs go nowhere."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(one_model("http://127.0.0.1:9"))
    serve = f"exec {sys.executable} -m gateway.cli serve {policy} --port {unused_tcp_port} {closed}"
    process = await asyncio.create_subprocess_exec("sh", "-c", serve)
    try:
        await until_it_answers(unused_tcp_port)
        process.terminate()
        assert await asyncio.wait_for(process.wait(), 10) == 0
    finally:
        if process.returncode is None:
            process.kill()


async def ask_and_terminate(
    process: asyncio.subprocess.Process, upstream: FakeUpstream, port: int, go_on: asyncio.Event
) -> bytes:
    async with connected(port) as old:
        await old.ask(chat_body(stream=True))
        await old.until(b'"a"')
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(10):
            while True:
                async with connected(port) as new:
                    await new.ask(chat_body())
                    if await new.status() == 503:
                        break
        go_on.set()
        return await old.until(b"[DONE]")
