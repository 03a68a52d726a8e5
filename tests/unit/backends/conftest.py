"""A replica behind HTTP that a test can ask."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from remote_calls import Ask, ShownKey, Told, chat, hear
from upstreams.fake_upstream import FakeUpstream

from backends.dialects.openai_chat.forward import Habits
from backends.remote import RemoteUpstream
from backends.transport import FastTransport
from backends.upstream import TimeLimits


@pytest.fixture
async def transport() -> AsyncIterator[FastTransport]:
    made = FastTransport()
    yield made
    assert made.in_use == 0, "an exchange was not released"
    await made.aclose()


@pytest.fixture
def ask(transport: FastTransport) -> Ask:
    """`await ask(upstream, stream=True, ...)`: fields of the body, plus `limits` and `habits`."""

    async def asks(
        to: FakeUpstream, *, limits: TimeLimits | None = None, habits: Habits | None = None, **fields: Any
    ) -> Told:
        remote = RemoteUpstream(model="m", at=to.base, transport=transport, key=ShownKey(), habits=habits)
        told = await hear(remote, chat(**fields), limits or TimeLimits())
        assert (remote.load().running, remote.load().queued_tokens) == (0, 0), "work was not released"
        return told

    return asks
