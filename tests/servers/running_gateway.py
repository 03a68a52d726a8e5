"""The real gateway on a real loopback socket, for as long as a test needs it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway.control.reload import Reloader
from gateway.house import Gateway
from gateway.serve import DrainingServer, open_server
from gateway.settings import Settings, Telemetry
from gateway.wiring import Built, build_gateway

QUIET = Telemetry(log="off")


@dataclass
class RunningGateway:
    """`base` is the address without /v1. `policy` is the file that is followed."""

    base: str
    port: int
    policy: Path
    gateway: Gateway
    reloader: Reloader
    server: DrainingServer

    async def until(self, condition: Callable[[Gateway], bool], within_s: float = 5.0) -> None:
        """Wait for something to become true of the gateway."""
        async with asyncio.timeout(within_s):
            while not condition(self.gateway):  # noqa: ASYNC110  the gateway does not announce its counters
                await asyncio.sleep(0.005)

    def holds_nothing(self) -> bool:
        """No request is inside, and no replica is owed any work."""
        replicas = list(self.gateway.live)
        return self.gateway.door.in_flight == 0 and not any(r.running or r.queued_tokens for r in replicas)

    async def until_empty(self, within_s: float = 5.0) -> None:
        await self.until(lambda _: self.holds_nothing(), within_s)


def one_model(at: str, **resilience: str) -> str:
    """The policy of one model `m` at an upstream."""
    limits = (
        f"resilience: {{{', '.join(f'{key}: {value}' for key, value in resilience.items())}}}\n" if resilience else ""
    )
    return f"policy: 1\nmodels: {{m: {{at: '{at}/v1'}}}}\nroutes: [{{use: m}}]\n{limits}"


@asynccontextmanager
async def running_gateway(policy: str, folder: Path, **settings: Any) -> AsyncIterator[RunningGateway]:
    """Serve `policy` on a free port; everything is closed on leaving."""
    path = folder / "policy.yaml"
    path.write_text(policy, encoding="utf-8")
    chosen = Settings(**{"policy": path, "port": 0, "telemetry": QUIET, **settings})
    async with serving(build_gateway(chosen), chosen) as gateway:
        yield gateway


@asynccontextmanager
async def serving(built: Built, settings: Settings) -> AsyncIterator[RunningGateway]:
    """What was built, on a socket."""
    assert settings.policy is not None
    server = open_server(built, settings)
    task = asyncio.create_task(server.serve())
    try:
        await started(server, task)
        base = f"http://127.0.0.1:{server.port}"
        yield RunningGateway(base, server.port, settings.policy, built.gateway, built.reloader, server)
    finally:
        server.should_exit = True
        await task


async def started(server: DrainingServer, serving: "asyncio.Task[None]") -> None:
    async with asyncio.timeout(20):
        while not server.started:
            if serving.done():
                serving.result()
            await asyncio.sleep(0.005)
