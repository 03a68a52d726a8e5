"""A server that speaks OpenAI's dialects under one base, as it is asked and heard: for chats, bare texts and embeddings."""

from collections.abc import Mapping
from types import MappingProxyType

from backends.dialects.faults import RequestFault
from backends.dialects.openai_chat.forward import Habits, forces_a_function, upstream_body
from backends.dialects.openai_chat.relay import Relay
from backends.dialects.openai_chat.whole import WholeReader
from backends.dialects.openai_completions import forward as completions
from backends.dialects.openai_embeddings import forward as embeddings
from backends.messages import Asks, ChatRequest, Event, Whole

NO_HEADERS: Mapping[str, str] = MappingProxyType({})
PAGES: Mapping[Asks, tuple[str, Mapping[str, str]]] = MappingProxyType(
    {
        "chat": ("/chat/completions", NO_HEADERS),
        "completions": (completions.PATH, NO_HEADERS),
        "embeddings": (embeddings.PATH, NO_HEADERS),
    }
)


class ChatServer:
    """`model` is the name that answers carry, `serves` the server's own."""

    def __init__(self, model: str, serves: str, habits: Habits) -> None:
        self._model = model
        self._serves = serves
        self._habits = habits
        self._wholes = WholeReader(model)

    def page(self, request: ChatRequest) -> tuple[str, Mapping[str, str]]:
        return PAGES[request.asks]

    def headers(self, secret: str) -> Mapping[str, str]:
        return {"authorization": f"Bearer {secret}"} if secret else {}

    def body(self, request: ChatRequest) -> bytes:
        if request.asks == "completions":
            return completions.upstream_body(request, self._serves)
        if request.unmapped is not None:
            raise RequestFault(request.unmapped.message, request.unmapped.param)
        if request.asks == "embeddings":
            return embeddings.upstream_body(request, self._serves)
        return upstream_body(request, self._serves, self._habits)

    def reader(self, request: ChatRequest) -> Relay | completions.CompletionRelay:
        if request.asks == "completions":
            return completions.CompletionRelay(self._model, choices=request.n, shows_usage=request.include_usage)
        return Relay(
            self._model,
            choices=request.n,
            shows_usage=request.include_usage,
            keeps_stop=forces_a_function(request),
        )

    def whole(self, body: bytes, request: ChatRequest) -> tuple[Event, ...]:
        if request.asks == "chat":
            keeps_stop = bool(request.tools) and forces_a_function(request)
            return self._wholes.correct(body, keeps_stop=keeps_stop)
        if request.asks == "embeddings":
            vectors, usage = embeddings.correct_vectors(body, request, self._model)
            whole = Whole(vectors)
        else:
            texts, usage = completions.correct_completion(body, self._model)
            whole = Whole(texts)
        return (whole,) if usage is None else (whole, usage)
