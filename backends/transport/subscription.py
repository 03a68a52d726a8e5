"""Messages that a publisher sends to whoever listens, over ZeroMQ. Imported only where a policy names such a publisher."""

import zmq
import zmq.asyncio

MOST_WAITING = 10_000
"""Messages that wait for us; what comes beyond them is lost, and shows as a gap in their numbers."""


class Subscription:
    """Connects by itself, again and again. `at` is tcp://HOST:PORT."""

    def __init__(self, at: str) -> None:
        self._context = zmq.asyncio.Context()
        self._socket = self._context.socket(zmq.SUB)
        self._socket.setsockopt(zmq.RCVHWM, MOST_WAITING)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.setsockopt(zmq.IPV6, 1)
        self._socket.setsockopt(zmq.RECONNECT_IVL_MAX, 2_000)
        self._socket.subscribe(b"")
        self._socket.connect(at)

    async def next(self) -> tuple[bytes, ...]:
        """The parts of one message."""
        return tuple(await self._socket.recv_multipart())

    def close(self) -> None:
        self._socket.close()
        self._context.term()
