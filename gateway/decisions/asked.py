"""What the log wants of a request beside its decision, gathered while it is under way. Its text does not outlive it."""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b

from backends.measures import LONG_CHARS
from backends.messages import ChatRequest
from backends.remote.prompt import imprint_of
from classifiers.features.numbers import Numbers
from gateway.live.in_force import Estimates
from gateway.request.escalate.listen import Listener, wanted_of
from gateway.request.facts import question_of
from gateway.request.identity import Principal
from policies.escalate.said import Wanted
from policies.facts import AUTO


@dataclass(slots=True)
class Asked:
    """`key` stands for everything that was said to the model, by whom. `ear` hears the answer where its form can be judged,
    `wanted` is that form. `numbers` tells what heads read of the question, as soon as it is known."""

    at: float
    key: bytes
    wanted: Wanted | None = None
    ear: Listener | None = None
    numbers: Callable[[], Numbers | None] | None = None


def asked(
    request: ChatRequest, principal: Principal, estimates: Estimates | None, *, secret: bytes, now: float
) -> Asked:
    """`estimates` where numbers are kept. `secret` keeps keys apart from those of other processes."""
    found = Asked(now, key_of(request, principal, secret))
    if request.asks != "chat":
        return found
    wanted = wanted_of(request) if request.response_format else None
    if wanted is not None and wanted.json:
        found.wanted, found.ear = wanted, Listener()
    if estimates is not None and request.model == AUTO:
        found.numbers = estimates.numbers(question_of(request))
    return found


def key_of(request: ChatRequest, principal: Principal, secret: bytes) -> bytes:
    """A digest that nobody can undo, or make, without the secret of this process. Of a long text its imprint is read, which
    others have reckoned already."""
    found = blake2b(principal.salt, digest_size=16, key=secret)
    for place, message in enumerate(request.messages):
        if len(message.text) > LONG_CHARS:
            found.update(f"{message.role}:{message.images}:imprint:".encode())
            found.update(imprint_of(request, place))
        else:
            text = message.text.encode("utf-8", "surrogatepass")
            found.update(f"{message.role}:{message.images}:{len(text)}:".encode())
            found.update(text)
        found.update(repr(message.token_ids).encode() if message.token_ids else b"")
        found.update(repr(message.documents).encode("utf-8", "surrogatepass") if message.documents else b"")
    return found.digest()
