"""The same against a running gateway over loopback, with streams under way; each further round begins by the admin's resume."""

import asyncio
import hashlib
import itertools
import tempfile
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

import httpx

from loadtests.servers import free_port, running, turnout, uvicorn
from policies.experiments.plan import CANARY

POLICY = """policy: 1
models: {{m: {{at: "http://127.0.0.1:{port}/v1", serves: first}}}}
routes: [{{name: default, use: m}}]
resilience: {{attempts: 1}}
guardrails: {{errors: {{metric: error_rate, worse_by: 0.5pp, alpha: 1%}}}}
rollouts:
  - name: next
    change: {{models.m.serves: second}}
    compare_with: rest
    steps: [{{traffic: 10%, for: 1h}}]
    watch: [errors]
"""

KEY = "rollback-drill"
AT_ONCE, STREAMS = 8, 32
MOST = 20_000
WITHIN_S = 60.0

FAST = {"role": "user", "content": "hi"}


class Asking:
    """Clients of one gateway; each request is a conversation of its own."""

    def __init__(self, clients: httpx.AsyncClient) -> None:
        self._clients = clients
        self._numbers = itertools.count()
        self.seen: Counter[str] = Counter()

    def _how(self, *, stream: bool) -> dict[str, Any]:
        body = {"model": "auto", "messages": [FAST], "stream": stream}
        return {"json": body, "headers": {"x-conversation-id": f"c{next(self._numbers)}"}}

    async def whole(self) -> str:
        """One request; its variant."""
        answer = await self._clients.post("/v1/chat/completions", **self._how(stream=False))
        variant = answer.headers.get("x-turnout-experiment", "").partition("=")[2]
        self.seen[variant] += 1
        return variant

    async def streamed(self) -> tuple[str, bool]:
        """A stream's variant, and whether it came to its end."""
        how = self._how(stream=True)
        async with self._clients.stream("POST", "/v1/chat/completions", **how) as answer:
            text = await answer.aread()
        variant = answer.headers.get("x-turnout-experiment", "").partition("=")[2]
        return variant, text.rstrip().endswith(b"[DONE]") and b'"error"' not in text


async def one_round(asking: Asking, admin: httpx.AsyncClient) -> dict[str, Any]:
    asking.seen.clear()
    over, ends = asyncio.Event(), list[tuple[str, bool]]()

    async def stream() -> None:
        while not over.is_set():
            ends.append(await asking.streamed())

    streams = [asyncio.create_task(stream()) for _ in range(STREAMS)]

    async def ask() -> None:
        while not over.is_set() and asking.seen.total() < MOST:
            await asking.whole()

    async with asyncio.TaskGroup() as tasks:
        for _ in range(AT_ONCE):
            tasks.create_task(ask())
        async with asyncio.timeout(WITHIN_S):
            while (await told(admin))["state"] != "rolled_back":  # noqa: ASYNC110  another process decides
                await asyncio.sleep(0.02)
        why = (await told(admin))["words"]
        over.set()
    canaries = asking.seen[CANARY]
    before = len(ends)
    after = [await asking.whole() for _ in range(40)]
    await asyncio.gather(*streams)
    return {
        "canary_requests": canaries + sum(variant == CANARY for variant, _ in ends),
        "why": why,
        "canaries_after": sum(variant == CANARY for variant in after),
        "streams_under_way": len(ends) - before,
        "streams_finished": all(ended for _, ended in ends),
        "canary_streams_under_way": sum(variant == CANARY for variant, _ in ends[before:]),
    }


async def told(admin: httpx.AsyncClient) -> dict[str, Any]:
    found: dict[str, Any] = (await admin.get("/admin/rollouts/next")).json()
    return found


async def rounds(url: str, admin_port: int, count: int) -> list[dict[str, Any]]:
    keyed = {"authorization": f"Bearer {KEY}"}
    async with (
        httpx.AsyncClient(base_url=url, timeout=60) as clients,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{admin_port}", headers=keyed, timeout=20) as admin,
    ):
        asking, found = Asking(clients), []
        for number in range(count):
            if number:
                (await admin.post("/admin/rollouts/next/resume")).raise_for_status()
            found.append(await one_round(asking, admin))
        return found


def drill(runs: int, rates: tuple[float, float], goal: int) -> dict[str, Any]:
    upstream, gateway, admin = free_port(), free_port(), free_port()
    broken = {"GOOD": str(rates[0]), "BAD": str(rates[1])}
    keyed = {
        "TURNOUT_ADMIN__PORT": str(admin),
        "TURNOUT_ADMIN__KEY_HASH": hashlib.sha256(KEY.encode()).hexdigest(),
        "TURNOUT_TELEMETRY__LOG": "off",
    }
    with tempfile.TemporaryDirectory() as folder:
        policy = Path(folder) / "policy.yaml"
        policy.write_text(POLICY.format(port=upstream))
        with (
            running("upstream", uvicorn("loadtests.rollback.upstream:app", upstream), upstream, env=broken),
            running("turnout", turnout(str(policy), gateway), gateway, env=keyed),
        ):
            found = asyncio.run(rounds(f"http://127.0.0.1:{gateway}", admin, runs))
    middle = median([one["canary_requests"] for one in found])
    clean = all(one["streams_finished"] and one["streams_under_way"] and not one["canaries_after"] for one in found)
    return {"holds": middle <= goal and clean, "median_canary_requests": middle, "rounds": found}
