"""Parts of a turn's content as content blocks: words, pictures, PDF files. Their docstrings stand in `MAPPING.md`."""

from base64 import b64decode
from typing import Any, Literal

import msgspec

from backends.dialects.faults import RequestFault

_NOTHING = msgspec.Raw()
EMPTY = (b"", b"null", b'""')
"""Raw texts that say nothing."""

Block = dict[str, Any]


class Words(msgspec.Struct, tag="text", forbid_unknown_fields=True):
    """a block `text`"""

    text: msgspec.Raw
    cache_control: msgspec.Raw = _NOTHING


class Refusal(msgspec.Struct, tag="refusal", forbid_unknown_fields=True):
    """a block `text`: the dialect has one kind of words"""

    refusal: str


class _Address(msgspec.Struct, forbid_unknown_fields=True):
    """`detail`: every picture is seen as well as it can be."""

    url: str
    detail: Literal["auto", "high"] | None = None


class Picture(msgspec.Struct, tag="image_url", forbid_unknown_fields=True):
    """a block `image`: a data URL (JPEG, PNG, GIF, WebP) is `base64`, any other `url`; `detail` is not `low`"""

    image_url: _Address
    cache_control: msgspec.Raw = _NOTHING


class _Data(msgspec.Struct, forbid_unknown_fields=True):
    file_data: str
    filename: str | None = None


class File(msgspec.Struct, tag="file", forbid_unknown_fields=True):
    """a block `document`: a PDF or plain text in `file_data`, `filename` is its `title`"""

    file: _Data
    cache_control: msgspec.Raw = _NOTHING


PICTURES = ("image/jpeg", "image/png", "image/gif", "image/webp")
PDF = ("application/pdf",)
PLAIN = ("data:text/plain", "data:text/plain;charset=utf-8")


def text_of(words: Words | Refusal) -> Block:
    """A text stays as it was written: it may be long."""
    if isinstance(words, Refusal):
        return {"type": "text", "text": msgspec.Raw(msgspec.json.encode(words.refusal))}
    return {"type": "text", "text": words.text, **_cached(words.cache_control)}


def user_block(part: Words | Picture | File, at: str) -> Block:
    """Raises RequestFault."""
    if isinstance(part, Words):
        return text_of(part)
    if isinstance(part, Picture):
        url, where = part.image_url.url, f"{at}.image_url.url"
        source = _inline(url, PICTURES, where) if url.startswith("data:") else {"type": "url", "url": url}
        return {"type": "image", "source": source, **_cached(part.cache_control)}
    title = {"title": part.file.filename} if part.file.filename else {}
    source = _read(part.file.file_data, f"{at}.file.file_data")
    return {"type": "document", "source": source, **title, **_cached(part.cache_control)}


def _read(url: str, at: str) -> Block:
    """A text is told as such; a kind of text that the dialect has no word for, as CSV, is none."""
    head, _, data = url.partition(";base64,")
    if head.lower() not in PLAIN:
        return _inline(url, PDF, at)
    try:
        text = b64decode(data, validate=True).decode()
    except ValueError:
        raise RequestFault(f"{at} is no base64 of UTF-8.", at) from None
    return {"type": "text", "media_type": "text/plain", "data": text}


def _inline(url: str, types: tuple[str, ...], at: str) -> Block:
    """RFC 2397: `data:TYPE;base64,DATA`."""
    head, comma, data = url.partition(",")
    kind = head.removeprefix("data:").removesuffix(";base64")
    if not comma or not head.endswith(";base64") or kind not in types:
        raise RequestFault(f"{at} is no base64 data URL of {' or '.join(types)}.", at)
    return {"type": "base64", "media_type": kind, "data": data}


def _cached(raw: msgspec.Raw) -> Block:
    return {"cache_control": raw} if bytes(raw) not in (b"", b"null") else {}
