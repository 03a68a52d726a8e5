"""The HTTP seam: the only room that opens a connection.

`interface` is what callers know, `fast` the transport of the hot path, `over_httpx` the same on the httpx API.
"""

from backends.transport.fast import FastTransport
from backends.transport.interface import HttpRequest, Origin, Response, Transport, TransportError, locate
from backends.transport.pool import PoolLimits

__all__ = [
    "FastTransport",
    "HttpRequest",
    "Origin",
    "PoolLimits",
    "Response",
    "Transport",
    "TransportError",
    "locate",
]
