"""Values of the file that look like credentials."""

from collections.abc import Iterator

from policies.language.problem import Problem, Source, holds_secret
from policies.language.tree import Entries, Node, Scalar


def secrets(source: Source, node: Node) -> Iterator[Problem]:
    """Values that look like credentials, wherever they stand."""
    if isinstance(node, Scalar):
        if isinstance(node.value, str) and holds_secret(node.value):
            yield source.problem(node.at, "this looks like a secret; a secret is never written here, use env:NAME")
        return
    # `key` has a message of its own, for whatever it holds.
    children = [e.node for e in node.entries if e.key != "key"] if isinstance(node, Entries) else node.items
    for child in children:
        yield from secrets(source, child)
