"""`set:` of a variant: the file's tree with some of its values replaced, each new one standing where the variant states it."""

from collections.abc import Iterator, Sequence

import msgspec

from policies.language.faults import did_you_mean, keys_at
from policies.language.tree import At, Entries, Entry, Items, Node, Path, Scalar

CLOSED = ("policy", "name", "guardrails", "experiments", "rollouts", "shadows", "tests")
"""What a variant leaves alone: what it is compared by, and the examples of the file's own policy."""


class Override(msgspec.Struct, frozen=True):
    """A dotted path, where it is written, and the value that stands there instead."""

    path: str
    at: At
    node: Node

    def covers(self, at: At) -> bool:
        """Whether this place is inside of what the variant states."""
        return at == self.at or at in places(self.node)


class Misplaced(Exception):
    """There is no such place in the file; the message says what there is."""


def places(node: Node) -> Iterator[At]:
    yield node.at
    if isinstance(node, Entries):
        for entry in node.entries:
            yield entry.at
            yield from places(entry.node)
    elif isinstance(node, Items):
        for item in node.items:
            yield from places(item)


def overrides_in(node: Node | None) -> tuple[Override, ...]:
    """Those of a `set:` map."""
    if not isinstance(node, Entries):
        return ()
    return tuple([Override(entry.key, entry.at, entry.node) for entry in node.entries])


def without(root: Node, sections: Sequence[str]) -> Node:
    assert isinstance(root, Entries)
    return Entries(root.at, [entry for entry in root.entries if entry.key not in sections])


def placed(root: Node, override: Override) -> Node:
    """The tree with this value in its place. Raises Misplaced."""
    section = override.path.partition(".")[0]
    if section in CLOSED:
        raise Misplaced(f"{override.path}: a variant cannot change {section}")
    return _put(root, override.path, override, ())


def _put(node: Node, rest: str, override: Override, here: Path) -> Node:
    if isinstance(node, Entries):
        return _into_map(node, rest, override, here)
    if isinstance(node, Items):
        return _into_list(node, rest, override, here)
    raise Misplaced(f"{override.path}: {spelt(here)} is a single value, so there is no {rest} in it")


def _into_map(node: Entries, rest: str, override: Override, here: Path) -> Node:
    """Names may have dots: of the keys that fit, the longest is meant."""
    keys = [entry.key for entry in node.entries]
    fitting = [key for key in (*keys, *keys_at(here)) if rest == key or rest.startswith(f"{key}.")]
    if not fitting and not (isinstance(override.node, Entries) and not keys_at(here) and "." not in rest):
        word = rest.partition(".")[0]
        raise Misplaced(f"{override.path}: {spelt(here)} has no {word}{did_you_mean(word, [*keys, *keys_at(here)])}")
    key = max(fitting, key=len, default=rest)
    fresh = Entry(key, override.at, _below(node, key, rest[len(key) + 1 :], override, here))
    if key not in keys:
        return Entries(node.at, [*node.entries, fresh])
    return Entries(node.at, [fresh if entry.key == key else entry for entry in node.entries])


def _below(node: Entries, key: str, rest: str, override: Override, here: Path) -> Node:
    if not rest:
        return override.node
    entry = node.find(key)
    return _put(Entries(override.at, ()) if entry is None else entry.node, rest, override, (*here, key))


def _into_list(node: Items, rest: str, override: Override, here: Path) -> Node:
    """Items go by their name."""
    names = [name_of(item, place) for place, item in enumerate(node.items)]
    fitting = [place for place, name in enumerate(names) if rest.startswith(f"{name}.")]
    if not fitting:
        word = rest.partition(".")[0]
        raise Misplaced(f"{override.path}: {spelt(here)} has no {word}{did_you_mean(word, names)}")
    place = max(fitting, key=lambda found: len(names[found]))
    inner = _put(node.items[place], rest[len(names[place]) + 1 :], override, (*here, place))
    return Items(node.at, [inner if other == place else item for other, item in enumerate(node.items)])


def name_of(item: Node, place: int) -> str:
    """What an item of a list is called: by its `name`, else as a route without one is."""
    entry = item.find("name") if isinstance(item, Entries) else None
    if entry is not None and isinstance(entry.node, Scalar):
        return str(entry.node.value)
    bare = isinstance(item, Entries) and item.find("when") is None
    return "default" if bare else f"route-{place + 1}"


def spelt(here: Path) -> str:
    return ".".join(map(str, here)) or "the policy"


def overlap(one: str, other: str) -> bool:
    """Whether two paths change the same place.

    >>> overlap("models.small", "models.small.serves"), overlap("models.small", "models.large")
    (True, False)
    """
    return f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")
