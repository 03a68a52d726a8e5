"""Embeddings pass as they came, both ways, and enter the books as a chat does."""

import asyncio
import base64
import json
import struct
from pathlib import Path
from typing import Any

import httpx
import pytest
from openai import AsyncOpenAI
from servers.in_process import gateway_around
from servers.plain_client import connected, head
from servers.running_gateway import running_gateway
from upstreams.fake_upstream import Received, Reply, Until, fake_upstream, json_reply, sse_reply

from gateway.settings import Telemetry

VECTORS = [[0.1, -2.5e-08, 1.0], [3.0, 4.25, -0.5]]


def policy(*bases: str) -> str:
    at = ", ".join(f"'{base}/v1'" for base in bases)
    return f"policy: 1\nmodels: {{e: {{at: [{at}], can: [embeddings], serves: theirs}}}}\nroutes: [{{use: e}}]\n"


def embedded(got: Received) -> Reply:
    """The way a real server answers, in the encoding that was asked for."""
    inputs = got.json["input"]
    packed = got.json.get("encoding_format") == "base64"
    vectors = [base64.b64encode(struct.pack("<3f", *v)).decode() if packed else v for v in VECTORS]
    data = [{"object": "embedding", "index": n, "embedding": vectors[n]} for n in range(len(inputs))]
    return json_reply(
        {"object": "list", "model": "theirs", "data": data, "usage": {"prompt_tokens": 9, "total_tokens": 9}}
    )


async def test_the_body_reaches_the_upstream_as_it_came_but_for_the_model(tmp_path: Path) -> None:
    odd = b'{"input":["\\u00e4", "b"], "model":"e", "dimensions":1.0,"x":[1e400, 123456789012345678901234567890],"user":null}'
    async with fake_upstream(embedded) as upstream, running_gateway(policy(upstream.base), tmp_path) as gateway:
        async with httpx.AsyncClient() as client:
            await client.post(f"{gateway.base}/v1/embeddings", content=odd)

        received = upstream.last.body

    for piece in (b'["\\u00e4", "b"]', b'"dimensions":1.0', b"[1e400, 123456789012345678901234567890]", b'"user":null'):
        assert piece in received, received
    assert json.loads(received.replace(b"1e400", b"1"))["model"] == "theirs"


async def test_the_answers_numbers_come_back_as_the_upstream_wrote_them(tmp_path: Path) -> None:
    wrote = b'{"object":"list","data":[{"embedding":[1.10, -0.0, 2E-8]}],"model":"theirs","id":"x-1"}'
    reply = Reply((wrote,), framing="length")
    async with (
        fake_upstream(reply) as upstream,
        running_gateway(policy(upstream.base), tmp_path) as gateway,
        httpx.AsyncClient() as client,
    ):
        answer = await client.post(f"{gateway.base}/v1/embeddings", json={"model": "e", "input": "a"})

    assert b'[{"embedding":[1.10, -0.0, 2E-8]}]' in answer.content
    assert (answer.json()["model"], answer.json()["id"]) == ("e", "x-1")


@pytest.mark.parametrize("form", ["float", "base64", None])
async def test_the_official_client_reads_both_encodings(form: Any, tmp_path: Path) -> None:
    """Without a word of the caller's it asks for base64 and unpacks it."""
    asked = {} if form is None else {"encoding_format": form}
    async with fake_upstream(embedded) as upstream, running_gateway(policy(upstream.base), tmp_path) as gateway:
        async with AsyncOpenAI(base_url=f"{gateway.base}/v1", api_key="any", max_retries=0) as client:
            answer = await client.embeddings.create(model="auto", input=["a", "b"], **asked)

        assert upstream.last.json.get("encoding_format") == (form or "base64")
    found = [item.embedding for item in answer.data]
    if form == "base64":
        found = [list(struct.unpack("<3f", base64.b64decode(str(packed)))) for packed in found]
    assert found == [pytest.approx(vector) for vector in VECTORS]
    assert (answer.model, answer.usage.prompt_tokens) == ("e", 9)


async def test_embeddings_are_spread_over_replicas_and_charged_by_their_input(tmp_path: Path) -> None:
    async with (
        fake_upstream(embedded) as first,
        fake_upstream(embedded) as second,
        running_gateway(policy(first.base, second.base), tmp_path) as gateway,
        httpx.AsyncClient() as client,
    ):
        body = {"model": "e", "input": ["a", "b"]}
        for _ in range(8):
            await client.post(f"{gateway.base}/v1/embeddings", json=body)
        page = gateway.gateway.observer.metrics_page().decode()
        shares = {len(first.received), len(second.received)}
        await gateway.until_empty()

    assert sum(shares) == 8 or shares == {4}
    assert 'usage_input_tokens_total{gen_ai_response_model="e"} 72.0' in page, page


async def test_spans_say_that_it_was_embeddings(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    told = Telemetry(traces="console", log="off")
    async with (
        fake_upstream(embedded) as upstream,
        httpx.AsyncClient() as client,
        running_gateway(policy(upstream.base), tmp_path, telemetry=told) as gateway,
    ):
        await client.post(f"{gateway.base}/v1/embeddings", json={"model": "e", "input": ["a"]})

    spans = "".join(capfd.readouterr())
    assert '"name": "embeddings e"' in spans
    assert '"gen_ai.operation.name": "embeddings"' in spans


async def test_who_leaves_is_not_embedded_any_further(tmp_path: Path) -> None:
    silent = sse_reply(Until(asyncio.Event()))
    body = b'{"model":"e","input":"a"}'
    async with fake_upstream(silent) as upstream, running_gateway(policy(upstream.base), tmp_path) as gateway:
        async with connected(gateway.port) as client:
            await client.send(head(len(body), path=b"/v1/embeddings") + body)
            await upstream.until(lambda seen: len(seen.received) == 1)
            client.kill()

            await asyncio.wait_for(upstream.last.closed.wait(), 1.0)
        await gateway.until_empty(1.0)


async def test_an_engine_here_is_not_asked_for_embeddings_and_named(tmp_path: Path) -> None:
    class Idle:
        """An upstream that must not be asked."""

        def load(self) -> Any:
            from backends.upstream import Load

            return Load()

        async def aclose(self) -> None:
            pass

    async with gateway_around(Idle(), tmp_path) as gateway, httpx.AsyncClient() as client:  # type: ignore[arg-type]
        answer = await client.post(f"{gateway.base}/v1/embeddings", json={"model": "m", "input": "a"})

    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "unsupported_content"
    assert "(m) can embed" in answer.json()["error"]["message"]
