"""Readiness of any server that speaks OpenAI's API: it lists its models."""

import asyncio
from collections.abc import Mapping

import msgspec

from backends.transport import HttpRequest, Origin, Transport, TransportError
from backends.transport.alarms import until
from backends.transport.decoding import read_whole

MAX_LIST_BYTES = 4 * 1024 * 1024


class Readiness(msgspec.Struct, frozen=True, kw_only=True):
    """`why_not` is "" when the replica is ready; `models` are the names that it answers to."""

    why_not: str = ""
    models: tuple[str, ...] = ()


class _Model(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    data: list[_Model]


async def probe(
    transport: Transport, origin: Origin, path: str, headers: Mapping[str, str], within_s: float
) -> Readiness:
    """GET {path}/models. Never raises: whatever goes wrong is the reason why the replica is not ready."""
    request = HttpRequest("GET", origin, f"{path}/models", tuple({**headers, "accept": "application/json"}.items()))
    try:
        async with until(asyncio.get_running_loop().time() + within_s):
            return await _ask(transport, request, within_s)
    except TimeoutError:
        return Readiness(why_not=f"no answer within {within_s:g} s")
    except TransportError as error:
        return Readiness(why_not=str(error))


async def _ask(transport: Transport, request: HttpRequest, within_s: float) -> Readiness:
    response = await transport.open(request, within_s)
    try:
        if response.status != 200:
            return Readiness(why_not=f"it answers {response.status} when asked for its models")
        body = await read_whole(response, MAX_LIST_BYTES)
    finally:
        await response.aclose()
    try:
        return Readiness(models=tuple(model.id for model in msgspec.json.decode(body, type=_Models).data))
    except (msgspec.DecodeError, RecursionError):
        return Readiness(why_not="its list of models is no list of models")
