"""The cheapest upstream there is: fixed bytes from an asyncio.Protocol. `python -m loadtests.transport.mock PORT`."""

import asyncio
import sys

EVENT = (
    b'data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m",'
    b'"choices":[{"index":0,"delta":{"content":"word "},"finish_reason":null}]}\n\n'
)
EVENTS = 33
GAP_S = 0.002
BODY = b'{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[' + b" " * 900 + b"]}"
WHOLE = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(BODY) + BODY
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
CHUNK = b"%x\r\n%b\r\n" % (len(EVENT), EVENT)


class Mock(asyncio.Protocol):
    """A request is whole when its JSON body ends; some clients write head and body apart."""

    def __init__(self) -> None:
        self.left = 0
        self.request = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.request += data
        end = b"}]}" if self.request.startswith(b"POST") else b"\r\n\r\n"
        if not self.request.endswith(end):
            return
        request, self.request = self.request, b""
        if request.startswith(b"POST /stream"):
            self.left = EVENTS
            self.transport.write(HEAD)
            self.write_event()
        else:
            self.transport.write(WHOLE)

    def write_event(self) -> None:
        if self.transport.is_closing():
            return
        self.left -= 1
        self.transport.write(CHUNK if self.left else CHUNK + b"0\r\n\r\n")
        if self.left:
            asyncio.get_running_loop().call_later(GAP_S, self.write_event)


async def main(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(Mock, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
