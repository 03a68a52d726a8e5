"""What was computed before, by digest: bounded, least recently used first out, safe between threads."""

from collections import OrderedDict
from threading import Lock
from typing import Generic, TypeVar

V = TypeVar("V")


class Memory(Generic[V]):
    """At most `most` values, none of them None. Each step is one operation of a dictionary, so it never makes an event loop
    wait; the lock keeps the bound where several threads put."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[bytes, V] = OrderedDict()
        self._lock = Lock()

    def get(self, key: bytes) -> V | None:
        """The value, now the most recently used; None where it is not (or no longer) kept."""
        try:
            self._values.move_to_end(key)
        except KeyError:
            return None
        return self._values.get(key)  # which another thread's put may have forgotten in between

    def put(self, key: bytes, value: V) -> None:
        """Keeps the value, and forgets the least recently used one beyond the bound."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            if len(self._values) > self._most:
                self._values.popitem(last=False)

    def __len__(self) -> int:
        return len(self._values)
