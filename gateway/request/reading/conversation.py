"""Which conversation a request is a turn of, and what its turns leave for the next: whom they were escalated to.

A conversation is known by what the client calls it, else by how it went so far: before its last answer a request is what the
request before was, to the letter. Where a history was edited nothing is known of it. Keys are digests by the tenant's salt.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b, sha256
from typing import NamedTuple

import msgspec

from backends.measures import LONG_CHARS
from backends.messages import ChatRequest, Message
from backends.remote.prompt import imprint_of
from gateway.state.notes import Notes
from policies.policy import PROMPT_PREFIX

DIGITS = 32
"""Of a key."""

LOOKS_BACK = 3
"""Turns whose word is looked for."""

HEADER, BODY = "header.", "body."

LONGEST_NAME = 1_024
"""Characters of a name that are looked at."""

ESCALATED = "!"
"""Before the name of a model that took over; without it, one that a line led to."""


class Past(NamedTuple):
    """What the turn before left word of: a model that took over, or one that it was for; at most one of the two."""

    escalated_to: str = ""
    was_on: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """`before` are the keys under which turns before may have left word, the latest first, none in a first one; `now` is
    that of this one."""

    notes: Notes
    before: Sequence[str]
    now: str
    for_s: float

    async def past(self) -> Past:
        word = await self.notes.read(self.before)
        return Past(escalated_to=word.removeprefix(ESCALATED)) if word.startswith(ESCALATED) else Past(was_on=word)

    def leave(self, past: Past) -> None:
        """For the next turn; nothing takes back what was left. Should it not get there in time, what turns before left does."""
        self.notes.post(self.now, _word(past), self.for_s)

    async def tell(self, past: Past) -> None:
        """The same where it is new, so that the next turn depends on it."""
        await self.notes.tell(self.now, _word(past), self.for_s)


def _word(past: Past) -> str:
    return ESCALATED + past.escalated_to if past.escalated_to else past.was_on


def keys_of(
    request: ChatRequest, headers: Mapping[str, str], salt: bytes, id_from: Sequence[str]
) -> tuple[Sequence[str], str] | None:
    """Of the turns before, the latest first, and of this one. None where the request belongs to no conversation that
    could be known again."""
    name = name_of(request, headers, id_from)
    if name:
        key = _digest(salt, b"turnout-named", name.encode("utf-8", "surrogatepass"))
        return (key,), key
    return history_keys(request, salt) if PROMPT_PREFIX in id_from else None


def goes_on(request: ChatRequest, headers: Mapping[str, str], id_from: Sequence[str]) -> bool:
    """Whether turns may have been before."""
    for message in request.messages:
        if message.role == "assistant":
            return True
    return bool(name_of(request, headers, id_from))


def name_of(request: ChatRequest, headers: Mapping[str, str], id_from: Iterable[str]) -> str:
    """What the client calls its conversation: the first of the sources that says something, as far as they go before
    `prompt_prefix`; "" where none does."""
    body = request.native.body if request.native is not None else request.raw
    for source in id_from:
        if source == PROMPT_PREFIX:
            return ""
        if source.startswith(HEADER):
            found = headers.get(source.removeprefix(HEADER), "")
        else:
            found = _named_in(body, source.removeprefix(BODY).split("."))
        if found:
            return found[:LONGEST_NAME]
    return ""


def history_keys(request: ChatRequest, salt: bytes) -> tuple[Sequence[str], str]:
    """Keys of the latest turns before, newest first, and of this one, by what was asked then and now. Several, for word may be
    late or not get to the store at all.

    An answer that the client begins itself, as the last message, is no turn of its own, and neither is what stands before
    the first words of a user.
    """
    messages, asked = request.messages, len(request.messages)
    while asked and messages[asked - 1].role == "assistant":
        asked -= 1
    answers = answers_in(messages[:asked])[-LOOKS_BACK:]
    found = sha256(b"turnout-history" + salt)  # built into processors, so faster than BLAKE2
    before: list[str] = []
    for at, message in enumerate(messages[:asked]):
        if at in answers:
            before.insert(0, found.copy().hexdigest()[:DIGITS])
        found.update(_told(message, imprint_of(request, at) if len(message.text) > LONG_CHARS else b""))
    return before, found.hexdigest()[:DIGITS]


def answers_in(messages: Sequence[Message]) -> list[int]:
    """Where answers begin; several messages of the assistant on end are one."""
    roles = [message.role for message in messages]
    first = roles.index("user") if "user" in roles else len(roles)
    return [at for at in range(first + 1, len(roles)) if roles[at] == "assistant" != roles[at - 1]]


def _told(message: Message, imprint: bytes) -> bytes:
    """Everything that tells a message from another, of a long text its imprint; lengths, so that no text can play several, nor
    an imprint."""
    text = imprint or message.text.encode("utf-8", "surrogatepass")
    beside = (message.documents,) if message.documents else ()
    rest = repr((message.tool_call_id, message.token_ids, *beside)).encode("utf-8", "surrogatepass")
    calls = msgspec.json.encode(message.tool_calls, order="deterministic") if message.tool_calls else b""
    size = -len(message.text) if imprint else len(text)
    counts = (message.role, message.images, message.audio, message.files, size, len(rest), len(calls))
    return b"".join((repr(counts).encode(), text, rest, calls))


def _digest(salt: bytes, person: bytes, word: bytes) -> str:
    return blake2b(word, digest_size=16, key=salt[:64], person=person).hexdigest()


def _named_in(body: bytes, path: Sequence[str]) -> str:
    """The text at `path`, "" where there is none; values beside it are not read."""
    first, *rest = path
    value = _parts(body).get(first) if first.encode() in body else None
    if value is None:
        return ""
    if rest:
        return _named_in(bytes(value), rest)
    try:
        return msgspec.json.decode(value, type=str)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""


def _parts(body: bytes) -> Mapping[str, msgspec.Raw]:
    """The top of an object. Whatever is there in another shape says nothing."""
    try:
        return msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}
