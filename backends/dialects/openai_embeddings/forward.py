"""To an upstream of the same dialect and back: the bytes of every field, but for the model's name."""

import msgspec

from backends.dialects.openai_chat.reported import read_usage, reported_error
from backends.dialects.openai_chat.whole import AnswerError
from backends.messages import ChatRequest, Usage

PATH = "/embeddings"

_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_VECTORS = msgspec.json.Decoder(list[msgspec.Raw])
_NOTHING = (b"", b"null")


def upstream_body(request: ChatRequest, serves: str) -> bytes:
    """`serves` is the upstream's name for the model."""
    if request.model == serves:
        return request.raw
    fields = _FIELDS.decode(request.raw)
    return msgspec.json.encode({**fields, "model": serves})


def correct_vectors(body: bytes, request: ChatRequest, model: str) -> tuple[bytes, Usage | None]:
    """Body and usage. The vectors themselves are not read: they may be many megabytes.

    Raises `AnswerError`, also when there is not one vector for each input, and `ReportedError` for an error object under
    a good status.
    """
    try:
        fields = _FIELDS.decode(body)
        if bytes(fields.get("error", b"")) not in _NOTHING:
            raise reported_error(bytes(fields["error"]), 502)
        count = len(_VECTORS.decode(fields.get("data", b"null")))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise AnswerError(f"the upstream's answer is no list of embeddings: {error}") from None
    if count != len(request.messages):
        raise AnswerError(f"the upstream's answer has {count} embeddings for {len(request.messages)} inputs")
    usage = fields.get("usage")
    told = None if usage is None else read_usage(bytes(usage))
    return msgspec.json.encode({**fields, "model": model}), told
