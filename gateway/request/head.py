"""The head of a request, as the parser read it."""

import msgspec


class Head(msgspec.Struct):
    """Headers by lower-case name; of one that came again the first counts, and the others are in `again`.

    `target` is the request's target as it came, `version` that of HTTP, as "1.1"; `size` are the bytes of all names and values.
    """

    method: bytes
    target: bytes
    version: str
    headers: dict[str, str]
    again: list[tuple[str, str]]
    size: int

    @property
    def count(self) -> int:
        return len(self.headers) + len(self.again)

    @property
    def path(self) -> bytes:
        """What stands before a query, as it came."""
        return self.target.partition(b"?")[0]

    @property
    def query(self) -> bytes:
        return self.target.partition(b"?")[2]

    def has_again(self, name: str) -> bool:
        return any(other == name for other, _ in self.again)

    def lines(self) -> list[tuple[bytes, bytes]]:
        """All headers, as ASGI has them."""
        pairs = (*self.headers.items(), *self.again)
        return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in pairs]
