"""What can be said of a prompt without the model's tokenizer: an upper estimate of its tokens, and its prefix blocks."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import ceil
from typing import NamedTuple

import msgspec

from backends.messages import ChatRequest, Message
from policies.affinity.blocks import chain, seed
from policies.affinity.imprint import Imprint

CHUNK_BYTES = 512
PART_BYTES = 16 * CHUNK_BYTES
"""Prompts begin alike over and over: keys of so long a part are remembered by what it follows."""

REMEMBERED_PARTS = 8_192
"""10 MB when full."""

LONG_CHARS = 4_096
"""Texts above this are counted once, and remembered."""

REMEMBERED_TEXTS = 4_096

BYTES_PER_TOKEN = 4
TOKENS_PER_TURN = 8
TOKENS_PER_IMAGE = 1700

_UPPER = bytes(range(65, 91))
_LOWER_AND_SPACE = bytes(range(97, 123)) + b" "
_DIGITS = bytes(range(48, 58))
_MULTIBYTE = bytes(range(128, 256))


def estimate_tokens(text: bytes) -> int:
    """Tokens of UTF-8 text, erring high; the README has it against a real tokenizer.

    Lower-case letters and spaces come in words, a token for three bytes at most. Capitals, digits, punctuation and
    line ends may each be one, and so may the space beside a digit. Text with many capitals is no prose (base64, ids):
    then every letter may be one. A character of several bytes is counted as three quarters of them.

    >>> estimate_tokens(b"What is 2+2?")
    12
    """
    return _tokens(_kinds(text))


class Kinds(NamedTuple):
    """Bytes of a text by kind."""

    lower: int
    spaces: int
    upper: int
    digits: int
    multibyte: int
    others: int


def _kinds(text: bytes) -> Kinds:
    rest, spaces = text.translate(None, _LOWER_AND_SPACE), text.count(b" ")
    upper, digits, multibyte = _count(rest, _UPPER), _count(rest, _DIGITS), _count(rest, _MULTIBYTE)
    lower = len(text) - len(rest) - spaces
    return Kinds(lower, spaces, upper, digits, multibyte, len(rest) - upper - digits - multibyte)


def _tokens(kinds: Kinds) -> int:
    lower, spaces, upper, digits, multibyte, others = kinds
    words = lower if 6 * upper > lower else lower / 3
    apart = min(spaces, digits)
    return upper + digits + others + apart + ceil(words + (spaces - apart) / 3 + multibyte * 3 / 4)


@lru_cache(maxsize=REMEMBERED_TEXTS)
def _kinds_again(salt: bytes, text: Imprint[str]) -> Kinds:
    """Remembered for each tenant apart: how long it takes tells nobody what others sent."""
    return _kinds(text.take().encode("utf-8", "replace"))


def _count(text: bytes, which: bytes) -> int:
    return len(text) - len(text.translate(None, which))


def estimate_prompt(request: ChatRequest, salt: bytes = b"") -> int:
    """Tokens of the whole prompt, with what a chat template adds around each turn. `salt` is the tenant's."""
    measures = request.measures
    if measures.tokens is None:
        measures.tokens = _estimated(request, salt)
    return measures.tokens


def _estimated(request: ChatRequest, salt: bytes) -> int:
    turns = request.messages
    calls = b"".join([msgspec.json.encode(turn.tool_calls) for turn in turns if turn.tool_calls])
    tools = msgspec.json.encode(request.tools) if request.tools else b""
    images, ids = sum([turn.images for turn in turns]), sum([turn.tokens for turn in turns])
    tokens = _of_texts([turn.text for turn in turns], calls + tools, salt)
    return tokens + ids + TOKENS_PER_TURN * (len(turns) + 1) + TOKENS_PER_IMAGE * images


def _of_texts(texts: Sequence[str], more: bytes, salt: bytes) -> int:
    """Tokens of the texts, a line each, and of what else there is."""
    short = b"\n".join([text.encode("utf-8", "replace") for text in texts if len(text) <= LONG_CHARS]) + more
    long = [Imprint(text) for text in texts if len(text) > LONG_CHARS]
    if not long:
        return estimate_tokens(short)
    ends_of_lines = b"\n" * min(len(long), len(texts) - 1)
    parts = [_kinds(short), _kinds(ends_of_lines), *[_kinds_again(salt, text) for text in long]]
    return _tokens(Kinds(*map(sum, zip(*parts, strict=True))))


def prefix_blocks(request: ChatRequest, revision: str, salt: bytes) -> tuple[bytes, ...]:
    """Chained keys of the full chunks of the canonical rendering; two prompts share keys as far as they are alike."""
    first, chains = seed(revision, salt), request.measures.chains
    if first not in chains:
        chains[first] = _keys(first, canonical(request))
    return chains[first]


def _keys(first: bytes, data: bytes) -> tuple[bytes, ...]:
    keys: list[bytes] = []
    whole = len(data) - len(data) % PART_BYTES
    for at in range(0, whole, PART_BYTES):
        keys.extend(_part(keys[-1] if keys else first, Imprint(data[at : at + PART_BYTES])))
    return (*keys, *chain(keys[-1] if keys else first, _chunks(data[whole:])))


@lru_cache(maxsize=REMEMBERED_PARTS)
def _part(previous: bytes, part: Imprint[bytes]) -> tuple[bytes, ...]:
    """`previous` is the key of all that goes before, the model and the tenant among it."""
    return chain(previous, _chunks(part.take()))


def canonical(request: ChatRequest) -> bytes:
    """Tools, then the turns, one JSON line each. A turn's line does not depend on what follows it.

    A plain string and a list of one text part are the same turn; so are all ways to say "no content". Bare texts stand as they
    are, their ids as numbers.
    """
    if request.asks == "completions":
        return b"\n".join(message.text.encode("utf-8", "replace") or _ids(message) for message in request.messages)
    lines = [msgspec.json.encode(request.tools, order="sorted")] if request.tools else []
    return b"\n".join([*lines, *[_line(message) for message in request.messages]])


def _line(message: Message) -> bytes:
    fields = (message.role, message.name, message.text, message.images, message.tool_call_id, message.tool_calls)
    return msgspec.json.encode(fields, order="sorted")


def _ids(message: Message) -> bytes:
    return b" ".join(b"%d" % token for token in message.token_ids)


def _chunks(data: bytes) -> Iterator[bytes]:
    return (data[at : at + CHUNK_BYTES] for at in range(0, len(data) - CHUNK_BYTES + 1, CHUNK_BYTES))
