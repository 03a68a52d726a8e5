"""Who may read our answers from a page of theirs: CORS, outermost."""

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.types import Message, Receive, Scope, Send

from gateway.request.client import client_of


class Cors(CORSMiddleware):
    """Answers of the hot path do not come by here on their way out, so the client's side is told beforehand what every answer
    to it carries."""

    async def simple_response(self, scope: Scope, receive: Receive, send: Send, request_headers: Headers) -> None:
        async def take(head: Message) -> None:
            client_of(scope).carries(head["headers"])

        await self.send({"type": "http.response.start"}, take, request_headers)
        await self.app(scope, receive, send)
