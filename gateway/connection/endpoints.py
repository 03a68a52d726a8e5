"""What answers without ASGI: a table that the application fills and the server looks into."""

from collections.abc import Callable, Coroutine, Mapping
from types import MappingProxyType
from typing import Any

from gateway.request.client import Asker

Attend = Callable[[Asker], Coroutine[Any, Any, None]]
"""Answers one request, whatever happens."""

Endpoints = Mapping[bytes, Attend]
"""By path as it came, for a POST that names no origin. Everything else goes by way of ASGI, and may come to the same."""

NO_ENDPOINTS: Endpoints = MappingProxyType({})
