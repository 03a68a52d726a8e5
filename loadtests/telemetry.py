"""What telemetry costs a request: microseconds of processor time of this process, its delivery thread included.

    python -m loadtests.telemetry [--rounds N] [--json] [--ledger]

One chat with one attempt, observed as the gateway observes it, in batches; ways of observing take turns, the least of many
batches counts, since neighbours only ever add. Traces go over OTLP/HTTP to a collector in a process of its own. Counted is
what is beyond observing nothing.
"""

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import Mapping
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from backends.messages import Usage
from gateway.request.settlement import Settlement
from gateway.telemetry.observe import Observer
from gateway.telemetry.opening import build_observer
from loadtests.ledger import add_row
from loadtests.servers import free_port, running
from policies.decision import Call, Candidate, Decision
from policies.estimates import Estimate
from policies.facts import Facts

REQUESTS = 1_000
GOAL_US = 60.0
CALL = Call("small", "http://10.0.0.1:8000/v1")
USAGE = Usage(420, 96, 256)
FACTS = Facts(prompt_tokens=420, stream=True)
ESTIMATE = Estimate(p_good={"small": 0.93, "large": 0.97}, artefact="demo", took_us=800)
HASH = "0123456789abcdef"
DECISION = Decision(
    steps=(CALL, Call("large", "http://10.0.0.2:8000/v1")),
    route="default",
    reason="small: p_good 0.93 costs less than what large would",
    policy_hash=HASH,
    candidates=(Candidate("small", CALL.replica), Candidate("large", "http://10.0.0.2:8000/v1")),
)
CALLER = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"}

WAYS: dict[str, dict[str, Any]] = {
    "nothing": {"metrics": False, "log": "off"},
    "metrics": {"log": "off"},
    "metrics, log": {"log": "json"},
    "metrics, log, traces 1 %": {"log": "json", "traces": "otlp", "sampled": 0.01},
    "metrics, log, all traces": {"log": "json", "traces": "otlp", "sampled": 1.0},
}
GOES = "metrics, log, traces 1 %"


class Collector(BaseHTTPRequestHandler):
    """Takes everything."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.do_GET()

    def log_message(self, format: str, *args: object) -> None:
        pass


def one_request(observer: Observer, headers: Mapping[str, str]) -> None:
    request = observer.begin(headers, "POST", "/v1/chat/completions")
    request.decided(FACTS, DECISION, ESTIMATE, 45)
    attempt = request.attempt(CALL, 1, 256)
    dict(attempt.headers)
    attempt.first_content()
    attempt.end("", USAGE)
    request.settle(
        Settlement(
            request_id=request.request_id,
            dialect="openai_chat",
            tenant="acme",
            stream=True,
            status=200,
            end="stop",
            attempts=1,
            duration_ms=812.5,
            ttft_ms=93.25,
            decision=DECISION,
            reason=DECISION.reason,
            answered_by=CALL,
            usage=USAGE,
            microusd=61,
        )
    )


async def batch(way: Mapping[str, Any], endpoint: str, headers: Mapping[str, str]) -> float:
    """Microseconds a request, with everything delivered."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:  # noqa: ASYNC230  never waits
        observer = build_observer(otlp_endpoint=endpoint, log_to=nowhere, **way)
        observer.policy_loaded(HASH, ["default"], ["small", "large"])
        one_request(observer, headers)
        began = time.process_time_ns()
        for _ in range(REQUESTS):
            one_request(observer, headers)
        await observer.aclose(10.0)
        return (time.process_time_ns() - began) / 1e3 / REQUESTS


async def measure(rounds: int, endpoint: str) -> dict[str, float]:
    """The least of all batches, beyond observing nothing; called by somebody whose trace is not kept as well."""
    asks = {name: partial(batch, way, endpoint, {}) for name, way in WAYS.items()}
    asks[f"{GOES}, with a traceparent"] = partial(batch, WAYS[GOES], endpoint, CALLER)
    found: dict[str, list[float]] = {name: [] for name in asks}
    for _ in range(rounds):
        for name, ask in asks.items():
            found[name].append(await ask())
    nothing = min(found.pop("nothing"))
    return {name: round(min(some) - nothing, 1) for name, some in found.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description="microseconds of processor time that telemetry costs a request")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--ledger", action="store_true")
    parser.add_argument("--collect", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.collect:
        ThreadingHTTPServer(("127.0.0.1", asked.collect), Collector).serve_forever()
    port = free_port()
    command = [sys.executable, "-m", "loadtests.telemetry", "--collect", str(port)]
    with running("collector", command, port) as there:
        found = asyncio.run(measure(asked.rounds, there.url))
    for name, us in found.items():
        print(f"{name:44} {us:6.1f} us", file=sys.stderr)
    if asked.json:
        print(json.dumps(found))
    if asked.ledger:
        workload = f"one chat, one attempt, {REQUESTS} a batch, least of {asked.rounds}, beyond observing nothing"
        add_row("what telemetry costs a request, us of processor time", workload, json.dumps(found))
    return 0 if found[GOES] <= GOAL_US else 1


if __name__ == "__main__":
    sys.exit(main())
