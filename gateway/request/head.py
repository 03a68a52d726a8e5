"""The head of a request, as the parser read it."""

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from gateway.request.identity import Identity, Principal
    from gateway.settings import Limits


class Passed(msgspec.Struct):
    """What heads that read alike, but for the length of the body, have passed already: these limits, and this holder of keys,
    by whose word they are the principal's."""

    limits: "Limits | None" = None
    identity: "Identity | None" = None
    principal: "Principal | None" = None


class Head(msgspec.Struct):
    """Headers by lower-case name; of one that came again the first counts, and the others are in `again`.

    `target` is the request's target as it came, `version` that of HTTP, as "1.1"; `size` are the bytes of all names and values.
    `passed` is shared by all heads of a connection that read alike, but for the length of the body.
    """

    method: bytes
    target: bytes
    version: str
    headers: dict[str, str]
    again: list[tuple[str, str]]
    size: int
    passed: Passed = msgspec.field(default_factory=Passed)

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
