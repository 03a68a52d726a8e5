"""A file that has the right shape: its values, and where each of them stands. Not yet known to make sense."""

from collections.abc import Iterator, Sequence

import msgspec
from pydantic import ValidationError

from policies.language.faults import did_you_mean, path_of, problems_of
from policies.language.problem import Problem, Source
from policies.language.schema import PolicyFile
from policies.language.tree import Entries, Entry, Items, Node, Path, descend, plain, spell, where_key, where_value

MOST_ROUNDS = 16


class Draft(msgspec.Struct, frozen=True):
    """`names` are all models that the text declares, also those with faults; `escalations` likewise."""

    source: Source
    root: Node
    file: PolicyFile
    names: Sequence[str]
    escalations: Sequence[str] = ()

    def at_value(self, path: Path, message: str) -> Problem:
        """A problem with the value at `path`."""
        return self.source.problem(where_value(self.root, path), f"{spell(self.root, path)} {message}")

    def at_key(self, path: Path, message: str) -> Problem:
        """A problem with the whole of `path`, shown at its key."""
        return self.source.problem(where_key(self.root, path), f"{spell(self.root, path)} {message}")

    def undeclared(self, path: Path, model: str, also: Sequence[str] = ()) -> Iterator[Problem]:
        """A problem where `model` is neither a model nor one of the words that may stand at `path` as well."""
        if model not in self.names and model not in also:
            hint = did_you_mean(model, [*self.names, *also])
            yield self.at_value(path, f"names the model {model}, which is not declared{hint}")


def draft(source: Source, root: Node) -> tuple[Draft | None, list[Problem]]:
    """The file and the faults of its shape. A faulty part is left out, so that the rest can be looked at as well.

    None when too little is left.
    """
    names, escalations = declared(root, "models"), declared(root, "escalations")
    problems: list[Problem] | None = None
    for _ in range(MOST_ROUNDS):
        try:
            return Draft(source, root, PolicyFile.model_validate(plain(root)), names, escalations), problems or []
        except ValidationError as error:
            problems = problems_of(error, source, root) if problems is None else problems
            pruned = _without_faults(root, error)
        if pruned is None:
            break
        root = pruned
    return None, problems or []


def declared(root: Node, section: str) -> list[str]:
    """Names in this section, as the text has them."""
    named = root.find(section) if isinstance(root, Entries) else None
    return [entry.key for entry in named.node.entries] if named and isinstance(named.node, Entries) else []


def _without_faults(root: Node, error: ValidationError) -> Node | None:
    """The tree without its faulty parts; None when the fault is the document itself."""
    paths: set[Path] = set()
    for fault in error.errors(include_url=False, include_context=False, include_input=False):
        path = path_of(fault)
        standing = tuple(part for part, _, _ in descend(root, path[:-1] if fault["type"] == "missing" else path))
        if not standing:
            return None
        paths.add(standing)
    return _prune(root, paths, ())


def _prune(node: Node, paths: set[Path], here: Path) -> Node:
    if isinstance(node, Entries):
        kept = [entry for entry in node.entries if (*here, entry.key) not in paths]
        return Entries(node.at, [Entry(e.key, e.at, _prune(e.node, paths, (*here, e.key))) for e in kept])
    if isinstance(node, Items):
        return Items(
            node.at, [_prune(n, paths, (*here, i)) for i, n in enumerate(node.items) if (*here, i) not in paths]
        )
    return node
