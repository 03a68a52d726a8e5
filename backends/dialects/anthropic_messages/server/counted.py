"""What a server of this dialect counts, and the errors that it tells."""

import msgspec

from backends.dialects.openai_chat.reported import Count, ReportedError, reported_error
from backends.messages import Usage

BROKEN = 500
"""What an error without a known type amounts to in this dialect: `api_error`."""


class _Thought(msgspec.Struct):
    thinking_tokens: Count | None = None


class _Usage(msgspec.Struct):
    input_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    output_tokens: Count | None = None
    output_tokens_details: _Thought | None = None


_USAGE = msgspec.json.Decoder(_Usage)


class Counted:
    """The counts of one answer. They are cumulative: a later one stands in for the same before it, one by one."""

    def __init__(self) -> None:
        self._told = _Usage()

    def take(self, raw: bytes) -> None:
        """A `usage` object; what is none says nothing."""
        try:
            fresh = _USAGE.decode(raw)
        except msgspec.DecodeError:
            return
        told = {name: value for name, value in msgspec.structs.asdict(fresh).items() if value is not None}
        self._told = msgspec.structs.replace(self._told, **told)

    @property
    def usage(self) -> Usage | None:
        """The prompt is all that was read, from a cache or not. None while nobody told anything of it."""
        told = self._told
        parts = (told.input_tokens, told.cache_creation_input_tokens, told.cache_read_input_tokens)
        if all(part is None for part in parts):
            return None
        completion = told.output_tokens or 0
        thought = told.output_tokens_details.thinking_tokens if told.output_tokens_details else None
        return Usage(
            sum(part or 0 for part in parts),
            completion,
            told.cache_read_input_tokens or 0,
            min(thought or 0, completion),
            told.cache_creation_input_tokens or 0,
        )


def told_error(raw: bytes) -> ReportedError:
    """From the value of an `error` key."""
    return reported_error(raw, BROKEN)
