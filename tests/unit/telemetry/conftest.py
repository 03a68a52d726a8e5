"""The world of `telemetry_world.py` as a fixture."""

import asyncio
from collections.abc import Iterator

import pytest
from telemetry_world import World, open_world


@pytest.fixture
def world() -> Iterator[World]:
    made = open_world()
    yield made
    asyncio.run(made.observer.aclose())
