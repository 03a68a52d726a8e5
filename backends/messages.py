"""Provider-neutral request and stream events. Every dialect is read into these and written from them."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import msgspec

from backends.measures import Measured

Role = Literal["system", "developer", "user", "assistant", "tool"]
FinishReason = Literal["stop", "length", "tool_calls", "content_filter"]


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One turn. `text` joins the text parts; `images` counts image parts; `tool_calls` are in the wire's own form.

    `audio` counts parts of sound, `files` parts of any other kind that is not text, `tokens` what came as ids of tokens,
    which are `token_ids` where a model here may have to read them, or sealed for a server's eyes alone. `documents` joins
    texts that came to be read and are not what is said: the prompt is longer by them, and asks nothing else. `files_read` of
    its files are among those.
    """

    role: Role
    text: str = ""
    images: int = 0
    audio: int = 0
    files: int = 0
    files_read: int = 0
    documents: str = ""
    tokens: int = 0
    token_ids: tuple[int, ...] = ()
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    tool_call_id: str = ""
    name: str = ""


ToolChoice = Literal["auto", "none", "required", "function"]
"""Whether tools may be called, may not, must be, or which one must: "function" stands for one that is named."""

SamplingChoice = Literal["temperature", "top_p"]

Asks = Literal["chat", "embeddings", "completions"]
"""What an answer is to be: the next turn; or, for each message by itself, a vector, or how its bare text goes on."""


class Sampling(msgspec.Struct, frozen=True, kw_only=True):
    """How tokens are drawn. `seed` None means that the engine picks one; temperature 0 is greedy.

    `logprobs_at_most` bounds for how many tokens an engine here tells `logprobs`; 0: for all.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    seed: int | None = None
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repetition_penalty: float = 1.0
    logit_bias: Mapping[int, float] = {}
    logprobs: bool = False
    top_logprobs: int = 0
    logprobs_at_most: int = 0


class Thinking(msgspec.Struct, frozen=True, kw_only=True):
    """How much is to be thought before the answer, as far as the client says: a word (`reasoning_effort` of Chat Completions),
    or so many `tokens` at most. `is_hidden`: what is thought is not to be told."""

    effort: str = ""
    tokens: int = 0
    is_hidden: bool = False

    @property
    def is_wanted(self) -> bool:
        """
        >>> Thinking(effort="low").is_wanted, Thinking(tokens=1024).is_wanted, Thinking(effort="none").is_wanted
        (True, True, False)
        """
        return bool(self.tokens) or self.effort not in ("", "none")


WireDialect = Literal["openai_chat", "anthropic"]
"""Dialects in which a server's own bytes may reach a client."""


class Unmapped(msgspec.Struct, frozen=True):
    """Why a request cannot be asked in another dialect than its own: a sentence, and the path of the field at fault."""

    message: str
    param: str = ""


class Native(msgspec.Struct, frozen=True, kw_only=True):
    """A request as its client wrote it, for a server of the same dialect: it is forwarded unread.

    `carries` names the headers, in lower case, that are part of it in this dialect; `headers` holds those that came. So do
    `asks_with` and `query` with parts of a query, as `beta=true`.
    """

    dialect: WireDialect
    body: bytes
    carries: tuple[str, ...] = ()
    headers: Mapping[str, str] = {}
    asks_with: tuple[str, ...] = ()
    query: str = ""


class ChatRequest(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A request to continue a conversation, with its body in Chat Completions (`raw`), which may be forwarded unread.

    `left_open` names the fields of `sampling` that the client did not state, for a model with settings of its own.
    `echo` is what an answer repeats of the request in the client's dialect: an object of JSON, or empty.
    `thinking` is None where the client says nothing of it.
    `native` is the body in the client's dialect where that is another one. With `unmapped` only a server of that dialect
    can be asked: `raw` is empty then, and the other fields say what could be read. `counted_tokens` is the length of the
    prompt as the model that answers counts it, 0 where nobody knows beforehand. `gives_way`: nobody waits for the answer, so
    an engine of this process goes on with all other work first.
    """

    raw: bytes
    model: str
    messages: tuple[Message, ...]
    sampling: Sampling = Sampling()
    left_open: frozenset[SamplingChoice] = frozenset()
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    stream: bool = False
    include_usage: bool = False
    n: int = 1
    tools: tuple[Mapping[str, Any], ...] = ()
    tool_choice: ToolChoice = "auto"
    parallel_tool_calls: bool = True
    response_format: Mapping[str, Any] | None = None
    thinking: Thinking | None = None
    echo: bytes = b""
    asks: Asks = "chat"
    native: Native | None = None
    unmapped: Unmapped | None = None
    counted_tokens: int = 0
    gives_way: bool = False

    measures: ClassVar[Measured] = Measured()
    """Of this very request: what is made of it by replacing fields is measured anew."""


class TokenLogprob(msgspec.Struct, frozen=True):
    """`token` as text, its raw `data` bytes, natural-log probability, and the `top` alternatives, falling."""

    token: str
    data: bytes
    logprob: float
    top: tuple["TokenLogprob", ...] = ()


class Delta(msgspec.Struct, frozen=True, tag=True):
    """More text of choice `index`."""

    text: str
    index: int = 0
    logprobs: tuple[TokenLogprob, ...] = ()


class ToolCall(msgspec.Struct, frozen=True, tag=True):
    """A whole call of a function by choice `index`, its `place`-th from 0 on. `arguments` is the text of a JSON object."""

    id: str
    name: str
    arguments: str
    place: int = 0
    index: int = 0


class Finish(msgspec.Struct, frozen=True, tag=True):
    """Choice `index` is whole. Exactly one for each choice. `stopped_by` is the stop string that was met, if it was one."""

    reason: FinishReason
    index: int = 0
    stopped_by: str = ""


class Usage(msgspec.Struct, frozen=True, tag=True):
    """What the answer took. `cached_tokens` of the prompt were not computed again, `written_tokens` were kept for later at a
    price; `reasoning_tokens` of the completion were thought and not said, where that is known."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    written_tokens: int = 0


class Wire(msgspec.Struct, frozen=True, tag=True):
    """One stream event of a server, already in the form that a client of its dialect shall see: its `data` bytes.

    `speaks` tells whether it carries content (text, tool call, reasoning), `finishes` whether it ends a choice. In another
    dialect than Chat Completions a client of the same dialect gets it, and a Finish beside it tells the reason. `counted` is
    what the server has counted by then, where it tells: of an answer that is cut it is the last word.
    """

    data: bytes
    speaks: bool = False
    finishes: bool = False
    dialect: WireDialect = "openai_chat"
    counted: Usage | None = None


class Whole(msgspec.Struct, frozen=True, tag=True):
    """A complete answer body (no stream); of its `dialect` holds what Wire says. `finish` is why the first choice ended that
    says so, where that was read."""

    body: bytes
    dialect: WireDialect = "openai_chat"
    finish: FinishReason | None = None


Event = Delta | ToolCall | Finish | Usage | Wire | Whole
"""Usage, when present, comes after the last Finish (or beside Wire and Whole, for the books only)."""
