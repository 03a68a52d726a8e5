"""A YAML document as a tree that knows where everything stands."""

from collections.abc import Iterator, Sequence

import msgspec

At = tuple[int, int]
"""Line and column, both from 1."""

Plain = None | bool | int | float | str | list["Plain"] | dict[str, "Plain"]
Path = tuple[str | int, ...]


class Scalar(msgspec.Struct, frozen=True):
    at: At
    value: bool | int | float | str | None


class Items(msgspec.Struct, frozen=True):
    at: At
    items: Sequence["Node"]


class Entry(msgspec.Struct, frozen=True):
    """A key, where it stands, and its value."""

    key: str
    at: At
    node: "Node"


class Entries(msgspec.Struct, frozen=True):
    at: At
    entries: Sequence[Entry]

    def find(self, key: str) -> Entry | None:
        return next((entry for entry in self.entries if entry.key == key), None)


Node = Scalar | Items | Entries


def plain(node: Node) -> Plain:
    """The values alone."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Items):
        return [plain(item) for item in node.items]
    return {entry.key: plain(entry.node) for entry in node.entries}


def descend(node: Node, path: Path) -> Iterator[tuple[str | int, At, Node]]:
    """Each step of `path` that exists: the part, where its key (or item) stands, and the node there."""
    for part in path:
        entry = node.find(str(part)) if isinstance(node, Entries) else None
        if entry is not None:
            node = entry.node
            yield part, entry.at, node
        elif isinstance(node, Items) and isinstance(part, int) and part < len(node.items):
            node = node.items[part]
            yield part, node.at, node
        else:
            return


def where_key(root: Node, path: Path) -> At:
    """Where the key at `path` stands, or the nearest key above it."""
    return next((at for _, at, _ in reversed(list(descend(root, path)))), root.at)


def where_value(root: Node, path: Path) -> At:
    """Where the value at `path` stands, or the nearest value above it."""
    return next((node.at for _, _, node in reversed(list(descend(root, path)))), root.at)


def spell(root: Node, path: Path) -> str:
    """`path` as a person writes it; items of a list go by their `name` where they have one."""
    steps = list(descend(root, path))
    # An index below a single value comes of reading it as a list of one: nobody wrote it.
    beyond = [str(part) for part in path[len(steps) :] if isinstance(part, str)]
    return ".".join([label for part, _, node in steps if (label := _label(part, node))] + beyond)


def _label(part: str | int, node: Node) -> str:
    if isinstance(part, int) and isinstance(node, Scalar):
        return ""  # the column says which of the words in a list is meant
    named = node.find("name") if isinstance(part, int) and isinstance(node, Entries) else None
    if named is not None and isinstance(named.node, Scalar):
        return str(named.node.value)
    return str(part)
