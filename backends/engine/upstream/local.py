"""The engine as an upstream in this process: chats in, neutral events out."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from threading import Lock
from types import MappingProxyType
from typing import Any, Protocol

import msgspec

from backends.engine.api import BLOCK_TOKENS, EngineLoad, Grammar, Job
from backends.engine.calls.choose import may_call, reader_for, refuse_tools
from backends.engine.calls.reader import CallFormat
from backends.engine.grammar.asked import asked_schema
from backends.engine.grammar.compile import Grammars
from backends.engine.loop import Engine
from backends.engine.thread.courier import Courier, Mailbox
from backends.engine.thread.feed import Place, Told
from backends.engine.upstream.answer import LocalAnswer
from backends.engine.upstream.fits import refuse_unknown, too_long
from backends.engine.upstream.speech import Speech
from backends.engine.upstream.unmet import refuse_unmet
from backends.errors import UpstreamError
from backends.messages import ChatRequest, Message, Sampling, SamplingChoice
from backends.upstream import GIVES_WAY, Load, Prepared, UpstreamCall
from policies.affinity.blocks import seed, token_blocks

CACHED_PROMPTS = 64
"""A prompt is measured before it is sent and again for every attempt; the tokens of the latest ones are kept."""

NO_CHOICES: Mapping[SamplingChoice, float] = MappingProxyType({})

MAX_TEXT = 1 << 62
"""More characters than any text has."""


class ChatTokenizer(Protocol):
    """What this room needs of a tokenizer: a conversation in the model's own form, and a bare text."""

    def encode_chat(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()) -> list[int]: ...

    def encode_prompt(self, text: str) -> list[int]: ...


class LocalUpstream:
    """One engine as one replica. `output_tokens` bounds an answer whose request names no bound.

    `longest_token`, the most bytes that one token stands for, tells hopeless prompts without reading them; 0: unknown.
    `own_sampling` is how this model is sampled where a request leaves it open.
    `grammars` is None for a model whose answers cannot be held to a schema, `calls` for one that calls no tools.
    """

    def __init__(
        self,
        engine: Engine,
        courier: Courier,
        tokenizer: ChatTokenizer,
        *,
        revision: str,
        window: int,
        output_tokens: int | None = None,
        longest_token: int = 0,
        own_sampling: Mapping[SamplingChoice, float] = NO_CHOICES,
        grammars: Grammars | None = None,
        calls: CallFormat | None = None,
    ) -> None:
        self.engine = engine
        self.revision = revision
        self._courier = courier
        self._tokenizer = tokenizer
        self._window = window
        self._output_tokens = output_tokens or window
        self._longest_token = longest_token
        self._own_sampling = own_sampling
        self._grammars = grammars
        self._calls = calls
        self._prompts: dict[bytes, tuple[int, ...]] = {}
        self._lock = Lock()

    def prepare(self, request: ChatRequest, salt: bytes) -> Prepared:
        """Safe from any thread. Raises UpstreamError (unsupported, too_long) when the model cannot read the conversation."""
        self._refuse_hopeless(request)
        prompts = self._prompts_of(request)
        tokens = max(prompts, key=len)
        return Prepared(
            tokens=len(tokens),
            exact=True,
            blocks=token_blocks(seed(self.revision, salt), tokens, BLOCK_TOKENS),
            block_tokens=BLOCK_TOKENS,
            token_ids=tokens,
            salt=salt,
            batch=prompts if len(prompts) > 1 else (),
        )

    async def start(self, call: UpstreamCall) -> LocalAnswer:
        """Raises UpstreamError (too_long, overloaded, unsupported, engine_failed); then nothing is left running."""
        _refuse_unsupported(call.request)
        refuse_tools(call.request, self._calls)
        if vocab_size := self.engine.vocab_size:
            refuse_unknown(call.request.messages, vocab_size)
        grammar = await self._grammar(call.request)
        mailbox = Mailbox(asyncio.get_running_loop())
        job_ids: list[int] = []
        try:
            for index in range(call.request.n):
                job_ids.append(self.engine.submit(self._job(call, index, grammar), self._courier.deliver_to(mailbox)))
        except UpstreamError:
            for job_id in job_ids:
                self.engine.cancel(job_id)
            raise
        each = call.request.n // len(_prompts(call))
        return LocalAnswer(self.engine, mailbox, job_ids, self._speeches(call.request), call.limits, each=each)

    def resident_tokens(self, prepared: Prepared) -> int:
        return min(self.engine.resident_tokens(prepared.blocks), prepared.tokens)

    @property
    def generation(self) -> str:
        """Changes whenever the prefix cache was lost."""
        return self.engine.feed.generation

    def residency_after(self, place: Place | None) -> Told | None:
        """See `ResidencyFeed.after`."""
        return self.engine.feed.after(place)

    def engine_load(self) -> EngineLoad:
        return self.engine.load()

    def load(self) -> Load:
        load = self.engine.load()
        why_not = self.engine.why_not
        return Load(
            ready=not why_not,
            why_not=why_not,
            gave_up=self.engine.gave_up,
            queued_tokens=load.queued_tokens,
            running=load.running + load.waiting,
            active_tokens=load.active_tokens,
        )

    async def aclose(self) -> None:
        """Ends the engine; answers under way end with an error."""
        if self._grammars is not None:
            self._grammars.close()
        await asyncio.to_thread(self.engine.close)

    async def _grammar(self, request: ChatRequest) -> Grammar | None:
        schema = asked_schema(request.response_format)
        if schema is None:
            return None
        if self._grammars is None:
            raise UpstreamError("unsupported", "this model writes no JSON", sent=False, param="response_format")
        return await self._grammars.compiled(schema)

    def _refuse_hopeless(self, request: ChatRequest) -> None:
        """Megabytes are not tokenised only to learn that they do not fit."""
        sizes = [len(message.text) for message in request.messages]
        least = (sum(sizes) if request.asks == "chat" else max(sizes)) // (self._longest_token or MAX_TEXT)
        if least > self._window:
            raise UpstreamError(
                "too_long", too_long(self._window, least, request.max_tokens or 1), sent=False, param="messages"
            )

    def _speeches(self, request: ChatRequest) -> list[Speech]:
        one_call = not request.parallel_tool_calls
        return [Speech(n, reader_for(request, self._calls), one_call=one_call) for n in range(request.n)]

    def _prompts_of(self, request: ChatRequest) -> tuple[tuple[int, ...], ...]:
        if request.asks != "completions":
            return (self._prompt(request),)
        encode = self._tokenizer.encode_prompt
        return tuple(message.token_ids or tuple(encode(message.text)) for message in request.messages)

    def _prompt(self, request: ChatRequest) -> tuple[int, ...]:
        tools = request.tools if may_call(request) else ()
        written = msgspec.json.encode((request.messages, tools))
        key = blake2b(written, digest_size=16).digest()
        with self._lock:
            tokens = self._prompts.pop(key, ())
        tokens = tokens or tuple(self._tokenizer.encode_chat(request.messages, tools))
        with self._lock:
            self._prompts[key] = tokens
            if len(self._prompts) > CACHED_PROMPTS:
                del self._prompts[next(iter(self._prompts))]
        return tokens

    def _job(self, call: UpstreamCall, index: int, grammar: Grammar | None) -> Job:
        """The choices of a prompt follow each other. Each draws with the seed one further on, so that they differ and can be
        repeated."""
        sampling, prompts = self._sampling(call.request), _prompts(call)
        place, nth = divmod(index, call.request.n // len(prompts))
        if sampling.seed is not None:
            sampling = msgspec.structs.replace(sampling, seed=sampling.seed + nth)
        return Job(
            prompt=prompts[place],
            sampling=sampling,
            max_tokens=call.request.max_tokens or self._most(len(prompts[place])),
            stop=call.request.stop,
            salt=call.prepared.salt,
            priority=max(call.priority, GIVES_WAY) if call.request.gives_way else call.priority,
            deadline_s=time.monotonic() + call.limits.total_s,
            grammar=grammar,
            continues=call.request.asks == "completions",
        )

    def _sampling(self, request: ChatRequest) -> Sampling:
        """The client's choices, and the model's own where the client left it open."""
        own = {name: value for name, value in self._own_sampling.items() if name in request.left_open}
        return msgspec.structs.replace(request.sampling, **own)

    def _most(self, prompt_tokens: int) -> int:
        return max(1, min(self._window - prompt_tokens, self._output_tokens))


def _prompts(call: UpstreamCall) -> tuple[tuple[int, ...], ...]:
    return call.prepared.batch or (call.prepared.token_ids,)


def _refuse_unsupported(request: ChatRequest) -> None:
    """Nothing is dropped silently: what the engine cannot honour is refused by its name."""
    if request.unmapped is not None:
        raise UpstreamError("unsupported", request.unmapped.message, sent=False, param=request.unmapped.param)
    if any(message.images for message in request.messages):
        raise UpstreamError("unsupported", "this model reads no images", sent=False, param="messages")
    refuse_unmet(request)
