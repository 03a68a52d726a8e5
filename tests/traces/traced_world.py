"""The real app with its traces in memory, or sent to a collector; and requests of every kind that it answers."""

import asyncio
import hashlib
import io
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from opentelemetry.sdk.trace.export import SpanExporter
from servers.plain_client import connected, head
from servers.running_gateway import QUIET, RunningGateway, serving
from upstreams.fake_upstream import FakeUpstream, Script, fake_upstream, unused_port

from gateway.settings import Settings
from gateway.telemetry.live import LiveObserver
from gateway.telemetry.logs import RequestLog
from gateway.telemetry.metrics.metrics import Metrics
from gateway.telemetry.redact import Redactor
from gateway.telemetry.traces.baggage import Baggage
from gateway.telemetry.traces.export import SpanDelivery
from gateway.telemetry.traces.exporters import SpanExports
from gateway.telemetry.traces.sampling import Sampling
from gateway.telemetry.traces.spans import Spans, resource_of
from gateway.telemetry.traces.tracing import Tracing
from gateway.wiring import build_gateway

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
CALLER = {"traceparent": f"00-{TRACE_ID}-b7ad6b7169203331-01", "tracestate": "vendor=1"}
KEY = "a-key-of-acme"


@dataclass
class Traced:
    """`places` are what addresses are called in a golden trace."""

    gateway: RunningGateway
    upstreams: Sequence[FakeUpstream]
    places: Mapping[str, str]

    async def ask(self, path: str, body: Mapping[str, Any], **headers: str) -> httpx.Response:
        async with httpx.AsyncClient(timeout=20) as client:
            return await client.post(f"{self.gateway.base}{path}", json=body, headers=headers)

    async def chat(self, text: str = "hi", *, headers: Mapping[str, str] | None = None, **body: Any) -> httpx.Response:
        asked = {"model": "auto", "messages": [{"role": "user", "content": text}], **body}
        return await self.ask("/v1/chat/completions", asked, **(headers or {}))

    async def leave_after(self, data: bytes, **body: Any) -> None:
        """Begin a stream, and hang up when `data` came."""
        asked = {"model": "auto", "messages": [{"role": "user", "content": "hi"}], "stream": True, **body}
        text = json.dumps(asked).encode()
        async with connected(self.gateway.port) as client:
            await client.send(head(len(text)) + text)
            await client.until(data)
            client.kill()
            await self.gateway.until_empty()


Play = Callable[[Traced], Awaitable[object]]


@dataclass(frozen=True)
class Scenario:
    """`policy` names upstreams as {A}, {B}, and {gone} where nobody listens. `keys`: only a client with KEY may ask.
    Of the requests of `play` the last one is the trace."""

    policy: str
    play: Play
    scripts: Mapping[str, Sequence[Script]] = field(default_factory=dict)
    trusts: bool = True
    keys: bool = False
    alike: bool = False
    """Which of the replicas is asked is not told."""


def observer_into(exporter: SpanExporter, *, trusts: bool = True, share: float = 1.0) -> LiveObserver:
    redactor, metrics = Redactor(), Metrics()
    delivery = SpanDelivery(lambda: SpanExports(exporter, Spans(resource_of("turnout"), redactor)), metrics.dropped)
    return LiveObserver(
        delivery=delivery,
        tracing=Tracing(delivery.deliver, Sampling(share, slow_s=60.0), trusts=trusts),
        baggage=Baggage(()),
        metrics=metrics,
        shows_metrics=True,
        log=RequestLog("json", redactor, io.StringIO()),
        clock=asyncio.get_running_loop().time,
    )


@asynccontextmanager
async def traced(
    scenario: Scenario, folder: Path, exporter: SpanExporter | None = None, **settings: Any
) -> AsyncIterator[Traced]:
    """Everything is closed, and delivered, on leaving. Without an `exporter` the settings say where traces go."""
    async with AsyncExitStack() as stack:
        upstreams = {
            name: await stack.enter_async_context(fake_upstream(*scripts)) for name, scripts in scenario.scripts.items()
        }
        bases = {name: upstream.base for name, upstream in upstreams.items()} | {"gone": absent()}
        file = folder / "policy.yaml"
        file.write_text(scenario.policy.format(**bases), encoding="utf-8")
        chosen = Settings(**{"policy": file, "port": 0, "telemetry": QUIET, **keys_of(scenario, folder), **settings})
        built = build_gateway(chosen)
        if exporter is not None:
            replaced, policy = built.gateway.observer, built.gateway.live.policy
            built.gateway.observer = observer_into(exporter, trusts=scenario.trusts)
            dialects = {model.name: model.dialect for model in policy.every_model}
            built.gateway.observer.policy_loaded(policy.hash, [], dialects, policy.experiments, dialects)
            await replaced.aclose()
        gateway = await stack.enter_async_context(serving(built, chosen))
        places = {base: "http://A" if scenario.alike else f"http://{name}" for name, base in bases.items()}
        yield Traced(gateway, list(upstreams.values()), places)
        await gateway.until_empty()
        if exporter is not None:
            await built.gateway.observer.aclose()


def absent() -> str:
    return f"http://127.0.0.1:{unused_port()}"


def keys_of(scenario: Scenario, folder: Path) -> dict[str, Path]:
    if not scenario.keys:
        return {}
    file = folder / "keys.json"
    file.write_text(json.dumps([{"hash": hashlib.sha256(KEY.encode()).hexdigest(), "tenant": "acme"}]))
    return {"keys_file": file}
