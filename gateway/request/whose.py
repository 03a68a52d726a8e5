"""Whose words an error is told in: the dialect of what was asked, as far as the path and the headers give it away."""

from collections.abc import Mapping

from backends.dialects.anthropic_messages.dialect import AnthropicMessages
from backends.dialects.dialect import Dialect
from backends.dialects.openai_chat.dialect import OpenAIChat

PLAIN = OpenAIChat()
MESSAGES = AnthropicMessages()

ROUTE = "/v1/route"

SPOKEN_BY_ANTHROPIC = "anthropic-version"
"""A header that Anthropic's API demands of every request, and that no other client sends."""


def tidy(path: str) -> str:
    """One path for what people write: a trailing slash and a doubled /v1 mean nothing.

    >>> tidy("/v1/v1/chat/completions/")
    '/v1/chat/completions'
    """
    if path.startswith("/v1/v1/"):
        path = path[3:]
    return path.rstrip("/") or "/"


def routing_path(path: str) -> str:
    """Where it is asked what would happen to a request to `path`.

    >>> routing_path("/v1/messages")
    '/v1/route/messages'
    """
    return ROUTE + path.removeprefix("/v1")


def dialect_of(path: str, headers: Mapping[str, str]) -> Dialect:
    """
    >>> dialect_of("/v1/v1/messages/", {}).name, dialect_of("/v1/models", {"anthropic-version": "2023-06-01"}).name
    ('anthropic', 'anthropic')
    """
    is_shared = tidy(path).startswith("/v1/models")
    if tidy(path).startswith((MESSAGES.path, routing_path(MESSAGES.path))) or (
        is_shared and SPOKEN_BY_ANTHROPIC in headers
    ):
        return MESSAGES
    return PLAIN
