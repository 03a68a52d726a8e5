"""Keys of how a prompt begins, for servers whose tokenizer is not known here: of chunks of a canonical text."""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from operator import attrgetter

from msgspec.json import Encoder, encode

from backends.measures import LONG_CHARS
from backends.messages import ChatRequest, Message
from backends.remote.prompt import imprint_of, tools_of
from policies.affinity.blocks import byte_blocks, seed
from policies.affinity.imprint import Remembered

CHUNK_BYTES = 512
PART_BYTES = 16 * CHUNK_BYTES
"""Prompts begin alike over and over: keys of so long a part are remembered by what it follows."""

_FIELDS = attrgetter("role", "name", "text", "images", "tool_call_id", "tool_calls")
_DOCUMENTS = "documents"
_JSON = Encoder(order="sorted")

Keys = tuple[bytes, ...]

_PARTS: Remembered[bytes, Keys] = Remembered(8_192)
"""10 MB when full."""

_TEXTS: Remembered[bytes, tuple[Keys, int]] = Remembered(131_072, lambda found: 1 + len(found[0]))
"""Of texts of messages, and how many bytes of theirs follow the last key. In keys: 8 MB when full."""


def prefix_blocks(request: ChatRequest, revision: str, salt: bytes) -> Keys:
    """Chained keys of the full chunks of the canonical rendering; two prompts share keys as far as they are alike."""
    first, measures = seed(revision, salt), request.measures
    found = measures.chains.get(first)
    if found is None:
        is_short = measures.longest <= LONG_CHARS
        found = chained(first, canonical(request)) if is_short else _Written(first, request).keys()
        measures.chains[first] = found
    return found


def canonical(request: ChatRequest) -> bytes:
    """Tools, then the turns, one JSON line each, before it that of its documents. A turn's line does not depend on what follows
    it.

    A plain string and a list of one text part are the same turn; so are all ways to say "no content". Bare texts stand as they
    are, their ids as numbers.
    """
    if request.asks == "completions":
        return b"\n".join([_bare(message) for message in request.messages])
    said = map(_FIELDS, request.messages) if request.measures.is_plain else _said(request.messages)
    lines = _JSON.encode_lines(said)[:-1]
    return b"%b\n%b" % (tools_of(request), lines) if request.tools else lines


def _said(messages: Sequence[Message]) -> Iterator[object]:
    for message in messages:
        if message.documents:
            yield _DOCUMENTS, message.documents
        yield _FIELDS(message)


def _line(message: Message) -> bytes:
    return _JSON.encode(_FIELDS(message))


def _bare(message: Message) -> bytes:
    return message.text.encode("utf-8", "replace") or b" ".join([b"%d" % token for token in message.token_ids])


def chained(previous: bytes, data: bytes) -> Keys:
    """Keys of the full chunks of `data`, which follows what has the key `previous`."""
    size = len(data)
    if size < PART_BYTES:
        return byte_blocks(previous, data, CHUNK_BYTES)
    whole = size - size % PART_BYTES
    keys: list[bytes] = []
    for at in range(0, whole, PART_BYTES):
        keys += _part(keys[-1] if keys else previous, data[at : at + PART_BYTES])
    return (*keys, *chained(keys[-1], data[whole:]))


def _part(previous: bytes, part: bytes) -> Keys:
    """`previous` is the key of all that goes before, the model and the tenant among it."""
    known_by = sha256(previous + part).digest()
    found = _PARTS.get(known_by)
    if found is None:
        found = byte_blocks(previous, part, CHUNK_BYTES)
        _PARTS.put(known_by, found)
    return found


class _Written:
    """The canonical text of a prompt as it is written piece by piece. Long texts of it that were seen after the same words are
    not written at all: their keys are known by their imprint."""

    def __init__(self, first: bytes, request: ChatRequest) -> None:
        self._request = request
        self._is_bare = request.asks == "completions"
        self._last = first
        self._known: list[bytes] = []
        self._rest: list[bytes] = []

    def keys(self) -> Keys:
        request = self._request
        if request.tools and not self._is_bare:
            self._rest += (tools_of(request), b"\n")
        for place, message in enumerate(request.messages):
            if place:
                self._rest.append(b"\n")
            if message.documents:
                self._rest.append(encode((_DOCUMENTS, message.documents)) + b"\n")
            if len(message.text) <= LONG_CHARS:
                self._rest.append(_bare(message) if self._is_bare else _line(message))
            elif self._is_bare:
                self._long(place)
            else:
                self._rest.append(encode((message.role, message.name))[:-1] + b',"')
                self._long(place)
                after = (message.images, message.tool_call_id, message.tool_calls)
                self._rest.append(b'",' + encode(after, order="sorted")[1:])
        self._chain(b"".join(self._rest))
        return tuple(self._known)

    def _long(self, place: int) -> None:
        """The text of a message behind what is written: its keys, and what is left of it behind the last of them."""
        before, text = self._chain(b"".join(self._rest)), self._request.messages[place].text
        follows = b"%b%b%d:%b" % (b"bare" if self._is_bare else b"line", self._last, len(before), before)
        known_by = sha256(follows + imprint_of(self._request, place)).digest()
        found = _TEXTS.get(known_by)
        if found is None:
            data = before + self._said(text)
            found = chained(self._last, data), len(data) % CHUNK_BYTES
            _TEXTS.put(known_by, found)
        keys, left = found
        self._add(keys)
        self._rest = [self._said(text[-left:])[-left:]] if left else []

    def _chain(self, data: bytes) -> bytes:
        """What is left of it behind its last key."""
        self._add(chained(self._last, data))
        return data[len(data) - len(data) % CHUNK_BYTES :]

    def _add(self, keys: Sequence[bytes]) -> None:
        if keys:
            self._known += keys
            self._last = keys[-1]

    def _said(self, text: str) -> bytes:
        """As it stands in the canonical text: no character's bytes hang on what is beside it, and none has less than one."""
        return text.encode("utf-8", "replace") if self._is_bare else encode(text)[1:-1]
