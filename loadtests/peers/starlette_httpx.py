"""The proxy that one writes in an afternoon: Starlette and httpx, passing bytes through. UPSTREAM is its target."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route


@asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    limits = httpx.Limits(max_connections=1000, max_keepalive_connections=1000)
    async with httpx.AsyncClient(base_url=os.environ["UPSTREAM"], timeout=60, limits=limits) as client:
        app.state.client = client
        yield


async def _chat(request: Request) -> Response:
    client: httpx.AsyncClient = request.app.state.client
    body, head = await request.body(), {"content-type": "application/json"}
    answer = await client.send(
        client.build_request("POST", "/chat/completions", content=body, headers=head), stream=True
    )
    return StreamingResponse(
        answer.aiter_raw(),
        status_code=answer.status_code,
        media_type=answer.headers["content-type"],
        background=BackgroundTask(answer.aclose),
    )


async def _health(request: Request) -> Response:
    return PlainTextResponse("ok")


app = Starlette(
    routes=[Route("/v1/chat/completions", _chat, methods=["POST"]), Route("/healthz", _health)], lifespan=_lifespan
)
