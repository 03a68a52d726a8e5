"""Bytes of a Completions request -> ChatRequest whose messages are the prompts, or one RequestFault that names the field.

`n` of the request counts the choices of all prompts, those of one prompt in a row.
"""

from typing import Literal

import msgspec

from backends.dialects.faults import RequestFault, decode_body
from backends.dialects.openai_completions.body import PLAIN_TOKENS, Body, prompts_of
from backends.messages import ChatRequest, Message, Sampling, SamplingChoice, Unmapped

_DECODER = msgspec.json.Decoder(Body)
_SEED_MASK = (1 << 63) - 1


def read_completions(raw: bytes) -> ChatRequest:
    """Raises `RequestFault`, and nothing else, whatever the bytes are.

    >>> [message.text for message in read_completions(b'{"model": "m", "prompt": ["a", "b"]}').messages]
    ['a', 'b']
    """
    body = decode_body(_DECODER, raw)
    _refuse_unmet(body)
    prompts = tuple(prompts_of(bytes(body.prompt)))
    return ChatRequest(
        raw=raw,
        model=body.model,
        messages=prompts,
        asks="completions",
        sampling=_sampling(body),
        left_open=_left_open(body),
        max_tokens=PLAIN_TOKENS if body.max_tokens is None else body.max_tokens,
        stop=(body.stop,) if isinstance(body.stop, str) else tuple(body.stop or ()),
        stream=bool(body.stream),
        include_usage=bool(body.stream_options and body.stream_options.include_usage),
        n=(body.n or 1) * len(prompts),
        echo=msgspec.json.encode({"prompts": [prompt.text for prompt in prompts]}) if body.echo else b"",
        unmapped=_beyond_us(body, prompts),
    )


def _refuse_unmet(body: Body) -> None:
    if body.best_of not in (None, 1):
        raise RequestFault("best_of cannot be honoured here: ask for n, and choose.", "best_of")
    if body.suffix:
        raise RequestFault("suffix cannot be honoured here: nothing is inserted.", "suffix")
    if body.stream_options is not None and not body.stream:
        raise RequestFault("stream_options is only allowed together with stream: true.", "stream_options")


def _beyond_us(body: Body, prompts: tuple[Message, ...]) -> Unmapped | None:
    """What a server of this dialect may be able to do, and an engine in this process is not."""
    if body.max_tokens == 0:
        return Unmapped("max_tokens: an engine in this process answers with one token at least.", "max_tokens")
    if body.echo and body.logprobs is not None:
        return Unmapped("echo: an engine in this process tells no log-probabilities of a prompt.", "echo")
    if body.echo and any(prompt.token_ids for prompt in prompts):
        return Unmapped("echo: an engine in this process repeats texts, and no token ids.", "echo")
    return None


def _left_open(body: Body) -> frozenset[SamplingChoice]:
    given: dict[Literal["temperature", "top_p"], float | None] = {"temperature": body.temperature, "top_p": body.top_p}
    return frozenset(name for name, value in given.items() if value is None)


def _sampling(body: Body) -> Sampling:
    return Sampling(
        temperature=1.0 if body.temperature is None else body.temperature,
        top_p=1.0 if body.top_p is None else body.top_p,
        top_k=max(body.top_k or 0, 0),
        min_p=body.min_p or 0.0,
        seed=None if body.seed is None else body.seed & _SEED_MASK,
        presence_penalty=body.presence_penalty or 0.0,
        frequency_penalty=body.frequency_penalty or 0.0,
        repetition_penalty=body.repetition_penalty or 1.0,
        logit_bias=body.logit_bias or {},
        logprobs=body.logprobs is not None,
        top_logprobs=body.logprobs or 0,
    )
