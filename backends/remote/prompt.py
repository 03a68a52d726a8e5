"""What can be said of a prompt without the model's tokenizer: an upper estimate of its tokens."""

from collections.abc import Sequence
from math import ceil

from msgspec.json import encode

from backends.measures import LONG_CHARS
from backends.messages import ChatRequest, Message
from policies.affinity.imprint import Remembered, imprint

BYTES_PER_TOKEN = 4
TOKENS_PER_TURN = 8
TOKENS_PER_IMAGE = 1700

_UPPER = bytes(range(65, 91))
_LOWER = bytes(range(97, 123))
_DIGITS = bytes(range(48, 58))
_MULTIBYTE = bytes(range(128, 256))


Kinds = tuple[int, int, int, int, int, int]
"""Bytes of a text by kind: lower-case letters, spaces, capitals, digits, those of characters of several bytes, others."""

_TEXTS: Remembered[tuple[bytes, bytes], Kinds] = Remembered(8_192)
"""By the tenant's salt and the imprint: how long it takes to count a text tells nobody what others sent."""


def estimate_tokens(text: bytes) -> int:
    """Tokens of UTF-8 text, erring high; the README has it against a real tokenizer.

    Lower-case letters and spaces come in words, a token for three bytes at most. Capitals, digits, punctuation and
    line ends may each be one, and so may the space beside a digit. Text with many capitals is no prose (base64, ids):
    then every letter may be one. A character of several bytes is counted as three quarters of them.

    >>> estimate_tokens(b"What is 2+2?")
    12
    """
    return _tokens(_kinds(text))


def _kinds(text: bytes) -> Kinds:
    no_lower = text.translate(None, _LOWER)
    rest = no_lower.translate(None, b" ")
    no_upper = rest.translate(None, _UPPER)
    no_digits = no_upper.translate(None, _DIGITS)
    others = len(no_digits.translate(None, _MULTIBYTE))
    upper, digits = len(rest) - len(no_upper), len(no_upper) - len(no_digits)
    spaces = len(no_lower) - len(rest)
    return len(text) - len(no_lower), spaces, upper, digits, len(no_digits) - others, others


def _tokens(kinds: Kinds) -> int:
    lower, spaces, upper, digits, multibyte, others = kinds
    words = lower if 6 * upper > lower else lower / 3
    apart = spaces if spaces < digits else digits
    return upper + digits + others + apart + ceil(words + (spaces - apart) / 3 + multibyte * 3 / 4)


def estimate_prompt(request: ChatRequest, salt: bytes = b"") -> int:
    """Tokens of the whole prompt, with what a chat template adds around each turn. `salt` is the tenant's."""
    measures = request.measures
    if measures.tokens is None:
        measures.tokens = estimate_newest(request, 0, salt)
    return measures.tokens


def estimate_newest(request: ChatRequest, since: int, salt: bytes) -> int:
    """The same of the messages from number `since` on, as if they were all. Texts are counted as lines of one; long ones apart,
    so that they need not be counted again."""
    measures = request.measures
    texts = measures.texts[since:] if since else measures.texts
    long: Sequence[int] = ()
    apart: list[Kinds] = []
    turns, more, extra = len(texts), b"", 0
    if measures.longest > LONG_CHARS:
        long = [place for place, text in enumerate(texts, since) if len(text) > LONG_CHARS]
        texts = [text for text in texts if len(text) <= LONG_CHARS]
    if not measures.is_plain:
        turned = request.messages[since:]
        more, extra = _besides(turned)
        apart = [_kinds_in(turn.documents, salt) for turn in turned if turn.documents]
    if request.tools and not since:
        more += tools_of(request)
    kinds = _kinds("\n".join(texts).encode("utf-8", "replace") + more)
    if long:
        apart += [_kinds_of(request, place, salt) for place in long]
    if apart:
        lower, spaces, upper, digits, multibyte, others = map(sum, zip(kinds, *apart, strict=True))
        kinds = lower, spaces, upper, digits, multibyte, others + min(len(long), turns - 1)
    return _tokens(kinds) + extra + TOKENS_PER_TURN * (turns + 1)


def imprint_of(request: ChatRequest, place: int) -> bytes:
    """Of the text of a message, which is reckoned once for a request."""
    known = request.measures.imprints
    found = known.get(place)
    if found is None:
        found = known[place] = imprint(request.messages[place].text)
    return found


def tools_of(request: ChatRequest) -> bytes:
    """The tools as JSON, in an order that does not hang on the client's; written once for a request."""
    measures = request.measures
    if measures.tools is None:
        measures.tools = encode(request.tools, order="sorted")
    return measures.tools


def _besides(turns: Sequence[Message]) -> tuple[bytes, int]:
    """Calls of tools as JSON, and the tokens of images and of what came as ids. A file has a page at least, which is shown as
    an image; how many a PDF has, nobody here knows. One that was read is counted as what it says."""
    calls = [encode(turn.tool_calls) for turn in turns if turn.tool_calls]
    shown = sum(turn.images + turn.files - turn.files_read for turn in turns)
    return b"".join(calls), sum(turn.tokens for turn in turns) + TOKENS_PER_IMAGE * shown


def _kinds_of(request: ChatRequest, place: int, salt: bytes) -> Kinds:
    return _again(request.messages[place].text, imprint_of(request, place), salt)


def _kinds_in(document: str, salt: bytes) -> Kinds:
    if len(document) <= LONG_CHARS:
        return _kinds(document.encode("utf-8", "replace"))
    return _again(document, imprint(document), salt)


def _again(text: str, known_as: bytes, salt: bytes) -> Kinds:
    known_by = salt, known_as
    found = _TEXTS.get(known_by)
    if found is None:
        found = _kinds(text.encode("utf-8", "replace"))
        _TEXTS.put(known_by, found)
    return found
