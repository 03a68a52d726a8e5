"""Pieces of JSON that both the whole answer and the stream are made of."""

import hashlib
import re
from functools import lru_cache

import msgspec

from backends.messages import TokenLogprob, ToolCall, Usage


def fingerprint(model: str) -> str:
    """The same for the same model, and says nothing else.

    >>> fingerprint("small")
    'fp_a752f44bea'
    """
    return "fp_" + hashlib.blake2b(model.encode(), digest_size=5).hexdigest()


@lru_cache(1024)
def as_json(name: str) -> msgspec.Raw:
    """A model's name as a value that stands in for another one's."""
    return msgspec.Raw(msgspec.json.encode(name))


_ESCAPED = re.compile(
    rb"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
"""A backslash that stands for itself, a pair of surrogates, or half of one."""


def in_utf8(data: bytes) -> bytes:
    r"""JSON as a client can decode it: what is no UTF-8 becomes U+FFFD, as WHATWG's event streams are to be decoded, and so
    does half of an escaped surrogate pair, which UTF-8 has no form for.

    >>> in_utf8(b"a\xff").decode(), in_utf8(rb'"\ud83d"')
    ('a\ufffd', b'"\\ufffd"')
    """
    if b"\\" in data and (b"\\ud" in data or b"\\uD" in data):
        data = _ESCAPED.sub(lambda found: rb"\ufffd" if found["half"] else found[0], data)
    if data.isascii():
        return data
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode(errors="replace").encode()
    return data


def usage_object(usage: Usage) -> dict[str, object]:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        "prompt_tokens_details": {
            "cached_tokens": usage.cached_tokens,
            **({"cache_write_tokens": usage.written_tokens} if usage.written_tokens else {}),
        },
        **(
            {"completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens}}
            if usage.reasoning_tokens
            else {}
        ),
    }


def call_object(call: ToolCall) -> dict[str, object]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def logprobs_object(logprobs: tuple[TokenLogprob, ...]) -> dict[str, object]:
    """The chat shape, not the older one of completions: `bytes` lets a reader join characters cut between tokens."""
    return {"content": token_objects(logprobs)}


def token_objects(logprobs: tuple[TokenLogprob, ...]) -> list[dict[str, object]]:
    return [{**_one(token), "top_logprobs": [_one(top) for top in token.top]} for token in logprobs]


def _one(token: TokenLogprob) -> dict[str, object]:
    return {"token": token.token, "logprob": token.logprob, "bytes": list(token.data)}
