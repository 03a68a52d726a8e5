"""W3C baggage: only the variants of a request, and only to hosts that are named. A caller's own goes nowhere."""

from collections.abc import Collection, Sequence
from functools import lru_cache
from urllib.parse import quote, urlsplit

from policies.experiments.plan import Assignment

BAGGAGE = "baggage"


class Baggage:
    """`hosts` may be told which variants a request has, as `host` or `host:port`."""

    def __init__(self, hosts: Collection[str]) -> None:
        self._hosts = frozenset(host.lower() for host in hosts)

    def toward(self, replica: str, assignments: Sequence[Assignment]) -> str:
        """The header's value, "" for none.

        >>> Baggage(["10.0.0.1"]).toward("http://10.0.0.1:8000/v1", [Assignment("price test", "a", "unit", 0.5)])
        'experiment.price%20test=a'
        """
        if not assignments or not self._hosts or self._hosts.isdisjoint(_places(replica)):
            return ""
        return ",".join([f"experiment.{quote(found.experiment)}={quote(found.variant)}" for found in assignments])


@lru_cache(maxsize=512)
def _places(replica: str) -> tuple[str, ...]:
    """Its host, with and without its port."""
    try:
        url = urlsplit(replica)
        host = url.hostname or ""
        return (host, f"{host}:{url.port}")
    except ValueError:
        return ()
