"""An OTLP/HTTP collector on a free port: it keeps what comes, or hangs, or answers otherwise."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span


@dataclass
class Received:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def request(self) -> ExportTraceServiceRequest:
        return ExportTraceServiceRequest.FromString(self.body)

    @property
    def spans(self) -> list[Span]:
        return [s for resource in self.request.resource_spans for scope in resource.scope_spans for s in scope.spans]


@dataclass(frozen=True)
class Manner:
    """How it answers: `status`, after `until` is set; `headers` beside."""

    status: int = 200
    until: threading.Event | None = None
    headers: Sequence[tuple[str, str]] = ()


@dataclass
class Collector:
    url: str = ""
    received: list[Received] = field(default_factory=list)
    came: threading.Event = field(default_factory=threading.Event)

    @property
    def spans(self) -> list[Span]:
        return [span for received in self.received for span in received.spans]


@contextmanager
def collector(manner: Manner = Manner()) -> Iterator[Collector]:
    """Serves in threads; what it makes wait goes on when it is left."""
    found = Collector()

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            found.received.append(Received(self.path, dict(self.headers), body))
            found.came.set()
            if manner.until is not None:
                manner.until.wait()
            self.send_response(manner.status)
            for name, value in (("content-length", "0"), *manner.headers):
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        found.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield found
        finally:
            if manner.until is not None:
                manner.until.set()
            server.shutdown()
            thread.join()
