"""What is wrong with a client's body, in words that every dialect can put into its envelope."""

import re
from typing import TypeVar

import msgspec

Body = TypeVar("Body")

LONGEST_QUOTE = 200
"""Characters of the decoder's words, which may quote the body's."""

_AT = re.compile(r"^(?P<what>.*?)(?: - at (?P<key>`key` in )?`\$(?P<path>.*)`)?$", re.DOTALL)
_MISSING = re.compile(r"^Object missing required field `(?P<field>.*)`$")
_ITEMS = msgspec.json.Decoder(list[msgspec.Raw])
_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_UNKNOWN = re.compile(r"^Object contains unknown field `(?P<field>.*)`$", re.DOTALL)


class RequestFault(Exception):
    """The request is at fault (400). `param` is the path of the field, as in `messages[0].role`; `code` may be None."""

    def __init__(self, message: str, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        self.code = code


def decode_body(decoder: "msgspec.json.Decoder[Body]", raw: bytes, at: str = "") -> Body:
    """Raises RequestFault, and nothing else, whatever the bytes are. `at` is the path of what `raw` is the value of."""
    try:
        if not raw.isascii():
            raw.decode()
        return decoder.decode(raw)
    except msgspec.ValidationError as error:
        raise _fault(str(error), at) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise RequestFault("The body is not valid JSON in UTF-8." if raw else "The body is empty.") from None
    except RecursionError:
        raise RequestFault("The body is nested too deeply.") from None


def decode_past_nulls(decoder: "msgspec.json.Decoder[Body]", raw: bytes, at: str = "", *, depth: int) -> Body:
    """As `decode_body`; members that are null say nothing, also those that nobody has heard of. They are looked for down to
    `depth`, since deeper ones may be the client's own values."""
    try:
        return decode_body(decoder, raw, at)
    except RequestFault:
        if b"null" not in raw:
            raise
    return decode_body(decoder, _without_nulls(raw, depth), at)


def _without_nulls(raw: bytes, depth: int) -> bytes:
    try:
        return msgspec.json.encode(_stated(msgspec.Raw(raw), depth))
    except (msgspec.DecodeError, RecursionError):
        return raw


def _stated(raw: msgspec.Raw, depth: int) -> object:
    start = bytes(memoryview(raw)[:1])
    if not depth or start not in (b"{", b"["):
        return raw
    if start == b"[":
        return [_stated(item, depth) for item in _ITEMS.decode(raw)]
    return {name: _stated(value, depth - 1) for name, value in _FIELDS.decode(raw).items() if bytes(value) != b"null"}


def _fault(text: str, at: str) -> RequestFault:
    """The decoder's words, `Expected ... - at `$.path``, as a message and the path of the field."""
    match = _AT.match(text)
    what, path = (match["what"][:LONGEST_QUOTE], match["path"] or "") if match else (text[:LONGEST_QUOTE], "")
    param = (at + path).removeprefix(".").replace("[...]", "")
    if missing := _MISSING.match(what):
        param = _within(param, missing["field"])
        return RequestFault(f"{param} is required.", param)
    if unknown := _UNKNOWN.match(what):
        param = _within(param, unknown["field"])
        return RequestFault(f"{param} cannot be honoured here.", param)
    if not param:
        return RequestFault(f"The body does not have the right shape: {what}.")
    return RequestFault(f"{param} is not right: {what}.", param)


def _within(path: str, field: str) -> str:
    return f"{path}.{field}" if path else field
