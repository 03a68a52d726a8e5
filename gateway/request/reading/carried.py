"""What a request is in other dialects: the headers that are part of it, and the models that have no words for it."""

import re
from collections.abc import Callable, Mapping
from operator import attrgetter

import msgspec

from backends.dialects.anthropic_messages.server.ask import fault_of
from backends.messages import ChatRequest, Unmapped
from gateway.request.head import Head
from gateway.request.identity import Principal
from policies.catalogue import Dialect, Model
from policies.facts import Uncarried

SHADOW_HEADER = "x-turnout-shadow"
"""Tells an upstream that nobody waits for the answer. Who sends it to us is not shadowed again."""

_DIALECT = attrgetter("dialect")
_QUOTED = re.compile(r"['`]([^'`]*)['`]")
_WORD = re.compile(r"[\w.-]{1,40}")

FAULTS: Mapping[Dialect, Callable[[ChatRequest], Unmapped | None]] = {
    "openai_chat": lambda request: request.unmapped,
    "anthropic": fault_of,
}


def with_head(request: ChatRequest, head: Head) -> ChatRequest:
    """The request with those of its headers, and parts of its query, that its dialect counts to what it says; no others."""
    native = request.native
    if native is None:
        return request
    headers, query = head.headers, head.query
    carried = {name: _all_of(name, head) if head.again else headers[name] for name in native.carries if name in headers}
    asked_with = [part for part in native.asks_with if part.encode() in query.split(b"&")] if query else []
    said = msgspec.structs.replace(native, headers=carried, query="&".join(asked_with))
    return msgspec.structs.replace(request, native=said)


def _all_of(name: str, head: Head) -> str:
    """Values of a header that came in several lines are one list (RFC 9110 section 5.3)."""
    values = (head.headers[name], *(value for other, value in head.again if other == name))
    return ", ".join(dict.fromkeys(values))


def behind_others(request: ChatRequest, headers: Mapping[str, str], principal: Principal) -> ChatRequest:
    """A gateway's shadow gives way to all others here as well. Of anybody else the header says nothing: who could give way to
    others would be in no load."""
    if not principal.is_relayed or headers.get(SHADOW_HEADER) != "true":
        return request
    return msgspec.structs.replace(request, gives_way=True)


def uncarried(request: ChatRequest, models: Mapping[str, Model]) -> Mapping[str, Uncarried]:
    """By model, why its dialect cannot carry the request. Each dialect of the policy is tried once."""
    dialects = set(map(_DIALECT, models.values()))
    if request.asks == "embeddings" or (request.unmapped is None and dialects == {"openai_chat"}):
        return {}
    faults = {dialect: told(fault) for dialect in dialects if (fault := FAULTS[dialect](request)) is not None}
    return {
        name: faults[model.dialect]
        for name, model in models.items()
        if model.dialect in faults and not _speaks_it(request, model)
    }


def told(fault: Unmapped) -> Uncarried:
    """Facts are logged: of what the client wrote nothing is quoted but words such as formats are made of.

    >>> told(Unmapped("type: 'custom'.")).message, told(Unmapped("role: 'my secret'.")).message
    ("type: 'custom'.", "role: '...'.")
    """
    return Uncarried(_QUOTED.sub(_word, fault.message), fault.param)


def _word(quoted: "re.Match[str]") -> str:
    return quoted[0] if _WORD.fullmatch(quoted[1]) else "'...'"


def _speaks_it(request: ChatRequest, model: Model) -> bool:
    """A server that takes the body as it is, whatever is in it."""
    return request.asks == "completions" and model.dialect == "openai_chat" and model.run is None
