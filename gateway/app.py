"""The ASGI application: paths to endpoints, CORS outermost, and what lives as long as the process does."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence

from backends.dialects.dialect import Dialect
from backends.dialects.openai_completions.dialect import OpenAICompletions
from backends.dialects.openai_embeddings.dialect import OpenAIEmbeddings
from backends.dialects.openai_responses.dialect import OpenAIResponses
from gateway.connection.asgi import App
from gateway.connection.endpoints import Endpoints
from gateway.errors import Internal, Left, MethodNotAllowed, NotFound, RouterError
from gateway.house import Gateway
from gateway.pages.count_tokens import count_tokens
from gateway.pages.feedback import FeedbackPage
from gateway.pages.health import alive, ready
from gateway.pages.metrics import metrics
from gateway.pages.models import list_models, show_model
from gateway.pages.page import Page
from gateway.pages.route import route
from gateway.request.chat import ChatEndpoint
from gateway.request.client import client_of
from gateway.request.ingress import Receive, Scope, Send
from gateway.request.reply import one_line, send_error, send_head
from gateway.request.whose import MESSAGES, PLAIN, ROUTE, dialect_of, routing_path, tidy
from gateway.worker import publish

Keep = Callable[[asyncio.Event], Coroutine[None, None, None]]
"""Work beside the requests, until the event is set."""

MODEL_PREFIX = "/v1/models/"
ANY_HEADER = ("*",)
"""What a page of an allowed origin may send and read. The clients' libraries send a dozen of their own and read limits and
times of ours; no cookie is ever looked at, so there is nothing that a page could borrow."""


def behind_cors(app: App, origins: Sequence[str]) -> App:
    """Requests that name no origin are none of its business; where no origin is allowed, none are."""
    if not origins:
        return app
    from gateway.cors import Cors

    return Cors(
        app,
        allow_origins=origins,
        allow_methods=("GET", "POST"),
        allow_headers=ANY_HEADER,
        expose_headers=ANY_HEADER,
    )


class Routes:
    """Exact paths from a table; requests are authorised on the same `scope["path"]` that they are routed by. `keep` runs from
    startup to shutdown of the server. `endpoints` are those of the table that need no ASGI."""

    def __init__(self, gateway: Gateway, keep: Keep | None) -> None:
        self._gateway = gateway
        self._keep = keep
        dialects = (PLAIN, MESSAGES, OpenAIResponses(), OpenAICompletions(), OpenAIEmbeddings())
        chats = {dialect.path: ChatEndpoint(gateway, dialect) for dialect in dialects}
        self.endpoints: Endpoints = {path.encode(): chat.attend for path, chat in chats.items()}
        self._table: Mapping[str, Mapping[str, App]] = {
            **{path: {"POST": chat} for path, chat in chats.items()},
            f"{MESSAGES.path}/count_tokens": {"POST": self._page(count_tokens)},
            ROUTE: {"POST": self._page(route(PLAIN))},
            **{routing_path(dialect.path): {"POST": self._page(route(dialect))} for dialect in dialects},
            "/v1/feedback": {"POST": self._page(FeedbackPage(gateway.limits.feedback_per_minute))},
            "/v1/worker/events": {"GET": self._page(publish.Events())},
            "/v1/worker/load": {"GET": self._page(publish.load)},
            "/v1/models": {"GET": self._page(list_models)},
            "/healthz": {"GET": self._page(alive)},
            "/readyz": {"GET": self._page(ready)},
            "/metrics": {"GET": self._page(metrics)},
        }
        self._one_model: Mapping[str, App] = {"GET": self._page(show_model)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        else:
            await send({"type": "websocket.close", "code": 1000})

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        methods = self._table.get(scope["path"]) or self._methods(tidy(scope["path"]))
        method = scope["method"]
        if methods is None:
            nothing = NotFound(f"There is nothing at {method} {one_line(scope['path'][:200])}.")
            await send_error(send, nothing, {}, self._dialect(scope))
        elif endpoint := methods.get("GET" if method == "HEAD" else method):
            await endpoint(scope, receive, send)
        else:
            await self._other_method(scope, ", ".join((*methods, "OPTIONS")), send)

    def _methods(self, path: str) -> Mapping[str, App] | None:
        return self._table.get(path) or (self._one_model if path.startswith(MODEL_PREFIX) else None)

    async def _other_method(self, scope: Scope, allowed: str, send: Send) -> None:
        if scope["method"] == "OPTIONS":
            await send_head(send, 204, {"allow": allowed})
            await send({"type": "http.response.body"})
        else:
            other = MethodNotAllowed(f"Use {allowed} here.", headers={"allow": allowed})
            await send_error(send, other, {}, self._dialect(scope))

    def _dialect(self, scope: Scope) -> Dialect:
        """Whose envelope an error under this path is in."""
        return dialect_of(scope["path"], client_of(scope).head.headers)

    def _page(self, page: Page) -> App:
        async def endpoint(scope: Scope, receive: Receive, send: Send) -> None:
            try:
                await page(self._gateway, scope, receive, send)
            except Left:
                return
            except RouterError as error:
                await send_error(send, error, {}, self._dialect(scope))
            except Exception:
                broken = Internal("Something broke here; the process's log says what.")
                await send_error(send, broken, {}, self._dialect(scope))
                raise

        return endpoint

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        over = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            if self._keep is not None:
                tasks.create_task(self._keep(over), name="upkeep")
            await send({"type": "lifespan.startup.complete"})
            await receive()
            over.set()
        await send({"type": "lifespan.shutdown.complete"})
