"""What a part `file` says where that is text: read to be counted. It goes on as it came."""

from base64 import b64decode
from collections.abc import Iterable

import msgspec

from backends.dialects.openai_chat.body import Part

_TEXTS = ("application/json", "application/xml", "application/yaml", "application/x-yaml")
_BASE64 = ";base64"


class _File(msgspec.Struct):
    file_data: str = ""


_FILE = msgspec.json.Decoder(_File)


def documents_in(parts: Iterable[Part]) -> list[str]:
    """The texts of files."""
    return [text for part in parts if part.type == "file" and (text := text_in(part.file))]


def text_in(file: msgspec.Raw) -> str:
    """Of a data URL of text (RFC 2397); "" of anything else.

    >>> text_in(msgspec.Raw(b'{"file_data": "data:text/plain;base64,d29yZHM=", "filename": "a.txt"}'))
    'words'
    """
    try:
        head, _, data = _FILE.decode(file).file_data.partition(",")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    kind = head.removeprefix("data:").partition(";")[0].lower()
    if not head.endswith(_BASE64) or not (kind.startswith("text/") or kind in _TEXTS):
        return ""
    try:
        return b64decode(data).decode("utf-8", "replace")
    except ValueError:  # not base64, or letters that no base64 has
        return ""
