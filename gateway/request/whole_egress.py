"""Step 9 where the client wants one piece: an answer in one JSON body."""

import time
from collections.abc import Mapping, Sequence

import msgspec

from backends.dialects.dialect import Dialect, WholeWriter
from backends.messages import ChatRequest, Event
from gateway.errors import RouterError
from gateway.request.client import Client
from gateway.request.reply import JSON
from policies.decision import Call


class WholeEgress(msgspec.Struct, eq=False):
    """An answer in one JSON body. It begins and ends in `finish`, so it never fails half-way."""

    _dialect: Dialect
    _client: Client
    _request: ChatRequest
    _request_id: str
    _completion: WholeWriter | None = None
    _headers: Mapping[str, str] = {}
    begun_at: float | None = None

    @property
    def begun(self) -> bool:
        return self.begun_at is not None

    @property
    def is_open(self) -> bool:
        return self.begun

    def hold(self, headers: Mapping[str, str]) -> None:
        """In one piece there is no sign of life."""

    @property
    def has_room(self) -> bool:
        """Nothing leaves before the end."""
        return True

    def attempt(self, call: Call, headers: Mapping[str, str], prompt_tokens: int = 0) -> None:
        self._completion = self._dialect.whole(self._request, call.model, self._request_id, int(time.time()))
        self._headers = {"content-type": JSON, **self._dialect.headers(self._request_id), **headers}

    def take(self, events: Sequence[Event], *, speaks: bool) -> bool:
        assert self._completion is not None
        for event in events:
            self._completion.add(event)
        return True

    async def room(self) -> None:
        """There is."""

    def finish(self) -> None:
        assert self._completion is not None
        body = self._completion.body()
        self.begun_at = time.perf_counter()
        self._client.answer(200, self._headers, body)

    async def fail(self, error: RouterError) -> None:
        raise error

    def close(self) -> None:
        self._completion = None
