"""Canary secrets in headers, bodies, the environment and addresses, through every surface and failure: none is in any sink."""

import asyncio
import hashlib
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from servers.collector import Manner, collector
from servers.plain_client import connected, head
from servers.running_gateway import RunningGateway, running_gateway, started
from upstreams.fake_upstream import (
    Cut,
    Received,
    Reply,
    Script,
    Until,
    chat_either,
    event,
    fake_upstream,
    json_reply,
    sse_reply,
    text_chunk,
    unused_port,
)

from gateway.control.admin_server import open_admin
from gateway.secrets import Secret
from gateway.settings import Admin, Decisions, Telemetry

IN_HEADERS = ("canary-bearer-1f3a9c", "canary-cookie-77aa", "canary-x-api-key-5d", "canary-proxy-88", "canary-agent-4e")
IN_BODIES = ("canary-prompt-02", "canary-system-0a", "canary-tool-3b", "canary-metadata-9e", "canary-image-pass-1c")
OF_THE_HOST = (
    "canary-env-key-6b",
    "canary-other-env-2d",
    "canary-address-pass-0f",
    "canary-otlp-6a",
    "canary-otel-31",
    "canary-state-8a",
    "canary-admin-4d",
)
IN_ADDRESSES = ("canary-query-5c", "canary-path-71", "canary-baggage-8d")
BEARER, COOKIE, API_KEY, PROXY, AGENT = IN_HEADERS
PROMPT, SYSTEM, TOOL, METADATA, IMAGE = IN_BODIES
ENV, OTHER, PASSWORD, OTLP, OTEL, STATE, ADMIN = OF_THE_HOST
QUERY, PATH, BAGGAGE = IN_ADDRESSES
EVERY = (*IN_HEADERS, *IN_BODIES, *OF_THE_HOST, *IN_ADDRESSES)

HEADERS = {
    "authorization": f"Bearer {BEARER}",
    "cookie": f"session={COOKIE}",
    "x-api-key": API_KEY,
    "proxy-authorization": f"Basic {PROXY}",
    "user-agent": AGENT,
    "baggage": f"user={BAGGAGE}",
    "traceparent": f"00-{'a' * 32}-{'b' * 16}-01",
}
PICTURE = {"type": "image_url", "image_url": {"url": f"https://user:{IMAGE}@pictures.example/a.png"}}
TOOLS = [{"type": "function", "function": {"name": "f", "description": TOOL, "parameters": {"type": "object"}}}]
ASKED: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {
        "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": PROMPT}],
        "tools": TOOLS,
        "metadata": {"note": METADATA},
        "user": METADATA,
    },
    "/v1/messages": {"system": SYSTEM, "messages": [{"role": "user", "content": PROMPT}], "max_tokens": 16},
    "/v1/messages/count_tokens": {"system": SYSTEM, "messages": [{"role": "user", "content": PROMPT}]},
    "/v1/responses": {"instructions": SYSTEM, "input": PROMPT, "metadata": {"note": METADATA}},
    "/v1/completions": {"prompt": PROMPT, "user": METADATA},
    "/v1/embeddings": {"input": PROMPT, "user": METADATA},
    "/v1/route": {"messages": [{"role": "user", "content": [{"type": "text", "text": PROMPT}, PICTURE]}]},
    "/v1/feedback": {"request_id": "req_" + "0" * 24, "rating": "down"},
}


def echoes(got: Received) -> Reply:
    """A server that says in its error all that it was told."""
    told = f"{got.headers} {got.body.decode()} Bearer {ENV}"
    return json_reply({"error": {"message": told, "code": got.header("authorization"), "type": told}}, 500)


def echoes_in_a_stream(got: Received) -> Reply:
    error = {"error": {"message": f"{got.headers} {got.body.decode()}", "type": "server_error"}}
    return sse_reply(text_chunk("a"), event(error))


def refuses(got: Received) -> Reply:
    key = got.header("authorization")
    return json_reply({"error": {"message": got.body.decode(), "code": key, "type": key, "param": key}}, 400)


FAILURES: dict[str, list[Script]] = {
    "answers": [chat_either("fine")],
    "echoes in an error": [echoes],
    "echoes in a stream": [echoes_in_a_stream],
    "refuses with an echo": [refuses],
    "no JSON": [lambda got: Reply((f"<html>{got.headers}{got.body.decode()}".encode(),))],
    "cut": [sse_reply(text_chunk("a"), Cut.RESET)],
    "no HTTP": [Reply((f"{ENV} is no HTTP\r\n\r\n".encode(),), framing="raw")],
    "hangs": [sse_reply(Until(asyncio.Event()))],
}


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY_A", ENV)
    monkeypatch.setenv("OTHER_SECRET", OTHER)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"authorization=Bearer {OTLP}")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", f"secret={OTEL}")


def policy_at(base: str, gone: str) -> str:
    return f"""
policy: 1
models:
  m: {{at: '{base}/v1', key: 'env:KEY_A', can: [tools, vision, embeddings]}}
  other: {{at: '{base}/v1', key: 'env:KEY_A', can: [tools, vision]}}
  gone: {{at: '{gone}/v1', key: 'env:KEY_A', can: [tools, vision, embeddings]}}
routes:
  - {{name: teams, when: {{header.cookie: nobody}}, use: m}}
  - {{name: r, use: gone, fallback: [m]}}
guardrails: {{errors: {{metric: error_rate, worse_by: 2pp}}}}
experiments:
  - {{name: tried, unit: user, variants: {{one: {{weight: 1}}, two: {{weight: 1}}}}, watch: [errors]}}
shadows: [{{name: s, of: r, to: other, sample: 100%, compare: [exact]}}]
resilience: {{total: 600ms, first_content: 200ms, attempts: 3}}
"""


async def refuses_a_secret(gateway: RunningGateway) -> None:
    """A policy that holds credentials is told of, without them."""
    text = gateway.policy.read_text().replace("http://", f"http://user:{PASSWORD}@")
    gateway.policy.write_text(text.replace("env:KEY_A", f"sk-{PASSWORD}"))
    await gateway.until(lambda inside: bool(inside.last_problem), 20)


async def asks_everything(gateway: RunningGateway) -> list[str]:
    """Every surface whole and streamed, and what cannot be read; the texts that came back."""
    async with httpx.AsyncClient(base_url=gateway.base, timeout=20, headers=HEADERS) as client:
        answers = [
            await client.post(f"{path}?key={QUERY}", json={"model": "auto", **body, **stream})
            for path, body in ASKED.items()
            for stream in ({}, {"stream": True})
        ]
        answers += [
            await client.post("/v1/chat/completions", content=f'{{"messages": [{{"{PROMPT}": "{METADATA}'.encode()),
            await client.post("/v1/chat/completions", json={"model": "m", "messages": PROMPT}),
            await client.post("/v1/messages", content=PROMPT.encode() * 1_000),
            await client.get(f"/v1/{PATH}"),
            *[await client.get(f"{path}?key={QUERY}") for path in ("/v1/models", "/readyz", "/healthz")],
        ]
        for name in (ENV, f"Bearer {BEARER}"):
            await client.post("/v1/chat/completions", json={"model": name, **ASKED["/v1/chat/completions"]})
    async with connected(gateway.port) as rude:
        body = json.dumps({"model": "m", **ASKED["/v1/chat/completions"], "stream": True}).encode()
        await rude.send(head(len(body), b"authorization: Bearer %b\r\n" % BEARER.encode()) + body[:-20])
        rude.kill()
    async with connected(gateway.port) as rude:
        await rude.send(b"POST /v1/%b HTTP/9\r\ncookie: %b\r\n\r\n" % (PATH.encode(), COOKIE.encode()))
        await rude.rest()
    return [f"{answer.status_code} {answer.headers} {answer.text}" for answer in answers]


async def asks_admin(gateway: RunningGateway) -> list[str]:
    admin = Admin(port=0, key_hash=hashlib.sha256(ADMIN.encode()).hexdigest())
    server = open_admin(gateway.gateway, gateway.gateway.settings.model_copy(update={"admin": admin}))
    assert server is not None
    serving = asyncio.create_task(server.serve())
    await started(server, serving)
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}", timeout=20) as client:
        answers = [
            await client.request(method, f"/admin/experiments{name}?key={QUERY}", headers=headers, content=PROMPT)
            for headers in (HEADERS, {"authorization": f"Bearer {ADMIN}"})
            for method, name in (("GET", ""), ("POST", "/tried/promote"), ("POST", f"/{PATH}/stop"))
        ]
    server.should_exit = True
    await serving
    return [f"{answer.status_code} {answer.text}" for answer in answers]


async def pages(gateway: RunningGateway) -> str:
    async with httpx.AsyncClient(base_url=gateway.base) as client:
        shown = [
            await client.get("/metrics"),
            await client.get("/metrics", headers={"accept": "application/openmetrics-text"}),
        ]
    return "".join(page.text for page in shown)


@pytest.mark.parametrize(("failing", "status"), [*((failing, 200) for failing in FAILURES), ("answers", 400)])
async def test_no_canary_is_in_any_sink(
    failing: str, status: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log"
    with collector(Manner(status=status)) as there:
        endpoint = there.url.replace("http://", f"http://user:{PASSWORD}@")
        told = Telemetry(traces="otlp", otlp_endpoint=endpoint, log="json")
        async with fake_upstream(*FAILURES[failing]) as upstream:
            policy = policy_at(upstream.base, f"http://127.0.0.1:{unused_port()}")
            state = Secret(f"redis://user:{STATE}@127.0.0.1:{unused_port()}/0")
            settings = {"telemetry": told, "decisions": Decisions(dir=log), "debug_headers": True, "state": state}
            async with running_gateway(policy, tmp_path, **settings) as gateway:
                answers = [*await asks_everything(gateway), *await asks_admin(gateway)]
                await refuses_a_secret(gateway)
                shown = await pages(gateway)
                await gateway.until_empty(20)
            asked = len(upstream.received)

    captured = capfd.readouterr()
    kept = b"".join(file.read_bytes() for file in log.rglob("*") if file.is_file())
    sinks = {
        "the process's output": (captured.out + captured.err).encode(),
        "traces": b"".join(received.body for received in there.received),
        "metrics": shown.encode(),
        "the log of decisions": kept,
    }
    assert asked, "nobody was asked"
    assert all(sinks.values()), {name: len(text) for name, text in sinks.items()}
    for name, text in sinks.items():
        assert not [canary for canary in EVERY if canary.encode() in text], name
    for answer in answers:
        assert not [canary for canary in OF_THE_HOST if canary in answer], answer[:600]
