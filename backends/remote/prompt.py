"""What can be said of a prompt without the model's tokenizer: an upper estimate of its tokens, and its prefix blocks."""

from collections.abc import Iterator
from math import ceil

import msgspec

from backends.messages import ChatRequest, Message
from policies.affinity.blocks import chain, seed

CHUNK_BYTES = 512
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
    rest, spaces = text.translate(None, _LOWER_AND_SPACE), text.count(b" ")
    lower = len(text) - len(rest) - spaces
    upper, digits, multibyte = _count(rest, _UPPER), _count(rest, _DIGITS), _count(rest, _MULTIBYTE)
    others = len(rest) - upper - digits - multibyte
    words = lower if 6 * upper > lower else lower / 3
    apart = min(spaces, digits)
    return upper + digits + others + apart + ceil(words + (spaces - apart) / 3 + multibyte * 3 / 4)


def _count(text: bytes, which: bytes) -> int:
    return len(text) - len(text.translate(None, which))


def estimate_prompt(request: ChatRequest) -> int:
    """Tokens of the whole prompt, with what a chat template adds around each turn."""
    measures = request.measures
    if measures.tokens is None:
        measures.tokens = _estimated(request)
    return measures.tokens


def _estimated(request: ChatRequest) -> int:
    turns = request.messages
    text = b"\n".join([message.text.encode("utf-8", "replace") for message in turns])
    calls = b"".join([msgspec.json.encode(message.tool_calls) for message in turns if message.tool_calls])
    tools = msgspec.json.encode(request.tools) if request.tools else b""
    images, ids = sum([message.images for message in turns]), sum([message.tokens for message in turns])
    return estimate_tokens(text + calls + tools) + ids + TOKENS_PER_TURN * (len(turns) + 1) + TOKENS_PER_IMAGE * images


def prefix_blocks(request: ChatRequest, revision: str, salt: bytes) -> tuple[bytes, ...]:
    """Chained keys of the full chunks of the canonical rendering; two prompts share keys as far as they are alike."""
    first, chains = seed(revision, salt), request.measures.chains
    if first not in chains:
        chains[first] = chain(first, _chunks(canonical(request)))
    return chains[first]


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
