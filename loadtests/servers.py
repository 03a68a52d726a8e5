"""Servers under test, each a process of its own on a free loopback port; stopped by its own pid, whatever happens."""

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO


@dataclass(frozen=True)
class Server:
    """A running process and its base URL."""

    name: str
    url: str
    pid: int

    def cpu_s(self) -> float:
        """Processor seconds that the process has used, its children left out (Linux)."""
        with open(f"/proc/{self.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rss_mb(self) -> float:
        """Resident memory in MB (Linux)."""
        with open(f"/proc/{self.pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(name: str, command: list[str], port: int, *, env: dict[str, str] | None = None, ready: str = "/healthz",
            within_s: float = 60.0) -> Iterator[Server]:  # fmt: skip
    """Start `command`, wait until `ready` answers 200, and end the process at the end.

    Raises RuntimeError with the tail of its output when it does not get ready in time.
    """
    url = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryFile() as said:  # a pipe that nobody reads would stop a server that logs
        process = subprocess.Popen(command, env={**os.environ, **(env or {})}, stdout=said, stderr=subprocess.STDOUT)
        try:
            _wait_ready(process, url + ready, name, within_s, said)
            yield Server(name, url, process.pid)
        finally:
            _stop(process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=20)
    if process.poll() is None:
        process.kill()
        process.wait()


def _wait_ready(process: subprocess.Popen[bytes], url: str, name: str, within_s: float, said: IO[bytes]) -> None:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError), urllib.request.urlopen(url, timeout=2) as answer:
            if answer.status == 200:
                return
        time.sleep(0.05)
    process.kill()
    process.wait()
    said.seek(0)
    tail = said.read()[-2000:].decode(errors="replace")
    raise RuntimeError(f"{name} was not ready within {within_s} s:\n{tail}")


def uvicorn(app: str, port: int) -> list[str]:
    """The command line of a quiet uvicorn that serves `app` on `port`."""
    return [sys.executable, "-m", "uvicorn", app, "--port", str(port), "--log-level", "error", "--no-access-log"]


def turnout(policy: str, port: int, *more: str) -> list[str]:
    """The command line of a gateway that serves the policy file on `port`."""
    return [sys.executable, "-m", "gateway.cli", "serve", policy, "--port", str(port), *more]
