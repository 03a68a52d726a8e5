"""Who and what a request is of, as digests: what an experiment gives a variant to. No name or key gets into the facts."""

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b

import msgspec

from backends.messages import ChatRequest
from gateway.request.identity import Principal, presented_key
from gateway.request.reading.conversation import name_of
from gateway.request.reading.draw import opening
from policies.experiments.plan import Unit
from policies.policy import ID_FROM, PROMPT_PREFIX


class Metadata(msgspec.Struct, frozen=True):
    user_id: str | None = None


class Named(msgspec.Struct, frozen=True):
    """What a body says of its sender, in either dialect."""

    user: str | None = None
    safety_identifier: str | None = None
    metadata: Metadata | None = None


NOBODY = Named()


def units_of(
    wanted: frozenset[Unit],
    request: ChatRequest,
    principal: Principal,
    headers: Mapping[str, str],
    request_id: str,
    *,
    id_from: Sequence[str] = ID_FROM,
) -> Mapping[Unit, str]:
    """Those of `wanted` that the request has. Tenants never share units."""
    words = _words(wanted, request, headers, request_id, id_from)
    return {unit: digest(principal, unit, word) for unit, word in words if word}


def _words(
    wanted: frozenset[Unit], request: ChatRequest, headers: Mapping[str, str], request_id: str, id_from: Sequence[str]
) -> Iterator[tuple[Unit, str | None]]:
    named = named_in(request) if "user" in wanted else NOBODY
    data = named.metadata or Metadata()
    if "request" in wanted:
        yield "request", request_id
    if "api_key" in wanted:
        yield "api_key", presented_key(headers)
    if "user" in wanted:
        yield "user", named.user or named.safety_identifier or data.user_id
    if "conversation" in wanted:
        name = name_of(request, headers, id_from)
        yield "conversation", name or (opening_of(request) if PROMPT_PREFIX in id_from else None)


def named_in(request: ChatRequest) -> Named:
    """Whatever is there in another shape says nothing."""
    body = request.native.body if request.native is not None else request.raw
    try:
        return msgspec.json.decode(body, type=Named)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return NOBODY


def opening_of(request: ChatRequest) -> str:
    """The same for every turn of a conversation."""
    found = blake2b(digest_size=16)
    for message in opening(request):
        text = message.text.encode("utf-8", "surrogatepass")
        found.update(f"{message.role}:{message.images}:{message.audio}:{message.files}:{len(text)}:".encode())
        found.update(text)
        if message.documents:
            found.update(repr(message.documents).encode("utf-8", "surrogatepass"))
    return found.hexdigest()


def digest(principal: Principal, unit: Unit, word: str) -> str:
    told = f"{unit}\0{word}".encode("utf-8", "surrogatepass")
    return blake2b(told, digest_size=8, key=principal.salt[:64], person=b"turnout-unit").hexdigest()
