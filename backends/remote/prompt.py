"""What can be said of a prompt without the model's tokenizer: an upper estimate of its tokens, and its prefix blocks."""

from collections.abc import Iterator

import msgspec

from backends.messages import ChatRequest, Message
from policies.affinity.blocks import chain, seed

CHUNK_BYTES = 512
BYTES_PER_TOKEN = 4
TOKENS_PER_TURN = 8
TOKENS_PER_IMAGE = 1700

_LETTERS = bytes(range(65, 91)) + bytes(range(97, 123)) + b" "
_MULTIBYTE = bytes(range(128, 256))


def estimate_tokens(text: bytes) -> int:
    """Tokens of UTF-8 text, erring high.

    A byte-level tokenizer makes at most one token of a byte. Letters and spaces come in words, of which every
    tokenizer in use makes at most a token for three bytes; digits, punctuation and line ends may stand alone; a
    character of several bytes is counted as two thirds of them.

    >>> estimate_tokens(b"What is 2+2?")
    7
    """
    rest = text.translate(None, _LETTERS)
    singles = len(rest.translate(None, _MULTIBYTE))
    multibyte = len(rest) - singles
    return -(-(len(text) - len(rest)) // 3) + singles + -(-2 * multibyte // 3)


def estimate_prompt(request: ChatRequest) -> int:
    """Tokens of the whole prompt, with what a chat template adds around each turn."""
    turns = request.messages
    text = b"\n".join(message.text.encode("utf-8", "replace") for message in turns)
    calls = b"".join(msgspec.json.encode(message.tool_calls) for message in turns if message.tool_calls)
    tools = msgspec.json.encode(request.tools) if request.tools else b""
    images = sum(message.images for message in turns)
    return estimate_tokens(text + calls + tools) + TOKENS_PER_TURN * (len(turns) + 1) + TOKENS_PER_IMAGE * images


def prefix_blocks(request: ChatRequest, revision: str, salt: bytes) -> tuple[bytes, ...]:
    """Chained keys of the full chunks of the canonical rendering; two prompts share keys as far as they are alike."""
    return chain(seed(revision, salt), _chunks(canonical(request)))


def canonical(request: ChatRequest) -> bytes:
    """Tools, then the turns, one JSON line each. A turn's line does not depend on what follows it.

    A plain string and a list of one text part are the same turn; so are all ways to say "no content".
    """
    lines = [msgspec.json.encode(request.tools, order="sorted")] if request.tools else []
    return b"\n".join([*lines, *(_line(message) for message in request.messages)])


def _line(message: Message) -> bytes:
    fields = (message.role, message.name, message.text, message.images, message.tool_call_id, message.tool_calls)
    return msgspec.json.encode(fields, order="sorted")


def _chunks(data: bytes) -> Iterator[bytes]:
    return (data[at : at + CHUNK_BYTES] for at in range(0, len(data) - CHUNK_BYTES + 1, CHUNK_BYTES))
