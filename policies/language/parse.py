"""YAML text into a tree with positions, from the parser's events: no object is ever built from a tag or an alias.

Plain scalars are read by the core schema of YAML 1.2, so `no` is a text and `1e3` a number.
"""

import re
from collections.abc import Iterator

import msgspec
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceStartEvent,
)
from ruamel.yaml.reader import ReaderError

from policies.language.problem import LINE_END, Problem, Source
from policies.language.tree import At, Entries, Entry, Items, Node, Scalar

LARGEST = 1 << 18
"""Characters of a policy file. A policy for 200 routes has some 40,000."""

DEEPEST = 32

CONSTANTS = {"": None, "~": None, "null": None, "Null": None, "NULL": None} | {
    word: value for value, words in ((True, "true True TRUE"), (False, "false False FALSE")) for word in words.split()
}
SURROGATE = re.compile("[\ud800-\udfff]")
WHOLE = re.compile(r"[-+]?[0-9]{1,18}")
FRACTION = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,2})?")


class Parsed(msgspec.Struct, frozen=True):
    """`root` is None when there is no document to speak of."""

    root: Node | None
    problems: tuple[Problem, ...]


class _Stop(Exception):
    """Reading on makes no sense."""


class _Unreadable(Exception):
    """The parser failed without saying where."""


def _events(text: str) -> Iterator[Event]:
    """The parser's events. On some malformed texts it fails with plain errors (an escape beyond Unicode: OverflowError);
    they are caught here, where nothing runs but the parser, and say nothing of ours."""
    try:
        yield from YAML(typ="rt", pure=True).parse(text)
    except (MarkedYAMLError, ReaderError):
        raise
    except Exception as error:
        raise _Unreadable(str(error)) from error


class _Reader:
    """Events into nodes, collecting problems on the way."""

    def __init__(self, source: Source, events: Iterator[Event]) -> None:
        self.source = source
        self.events = events
        self.problems: list[Problem] = []
        self.depth = 0
        self.last: At = (1, 1)

    def document(self) -> Node | None:
        root = None
        for event in self.events:
            if isinstance(event, DocumentStartEvent) and root is not None:
                self.complain(_at(event), "a policy is one document; remove what follows this ---")
                raise _Stop
            if isinstance(event, NodeEvent):
                root = self.node(event)
        return root

    def node(self, event: Event) -> Node:
        at = self.last = _at(event)
        self.refuse_indirection(event, at)
        if isinstance(event, ScalarEvent):
            if SURROGATE.search(event.value):
                self.complain(at, "half of a surrogate pair is no character")
            return Scalar(at, resolve(event.value) if event.implicit[0] else event.value)
        self.depth += 1
        if self.depth > DEEPEST:
            self.complain(at, f"nested more than {DEEPEST} levels deep")
            raise _Stop
        mapping = isinstance(event, MappingStartEvent)
        node = Entries(at, self.entries()) if mapping else Items(at, self.items(event))
        self.depth -= 1
        return node

    def refuse_indirection(self, event: Event, at: At) -> None:
        anchor = getattr(event, "anchor", None)
        if anchor:
            sign = "alias *" if isinstance(event, AliasEvent) else "anchor &"
            self.complain(at, f"{sign}{anchor} is not read here; models inherit with `like: NAME`")
        if isinstance(event, AliasEvent):
            raise _Stop
        if getattr(event, "tag", None):
            self.complain(at, "tags (!...) are not read here; write the plain value")

    def items(self, start: Event) -> tuple[Node, ...]:
        assert isinstance(start, SequenceStartEvent)
        found: list[Node] = []
        while not isinstance(event := next(self.events), CollectionEndEvent):
            found.append(self.node(event))
        return tuple(found)

    def entries(self) -> tuple[Entry, ...]:
        found: dict[str, Entry] = {}
        while not isinstance(event := next(self.events), CollectionEndEvent):
            at = _at(event)
            key = self.node(event)
            value = self.node(next(self.events))
            if not isinstance(key, Scalar) or not isinstance(event, ScalarEvent):
                self.complain(at, "a key is a plain word")
            elif event.value in found:
                line, column = found[event.value].at
                self.complain(at, f"key {event.value} stands here twice; first at {line}:{column}")
            else:
                found[event.value] = Entry(event.value, at, value)
        return tuple(found.values())

    def complain(self, at: At, message: str) -> None:
        self.problems.append(self.source.problem(at, message))


def parse(source: Source, text: str) -> Parsed:
    """Never raises; a text that is no YAML gives one problem, at the place where reading failed."""
    if len(text) > LARGEST:
        return Parsed(None, (source.problem((1, 1), f"the file is larger than {LARGEST} characters"),))
    reader = _Reader(source, _events(text))
    root: Node | None = None
    try:
        root = reader.document()
        if root is None:
            reader.complain((1, 1), "the file is empty; a policy begins with `policy: 1`")
    except _Stop:
        pass
    except ReaderError as error:
        reader.complain(_position(text, error.position), "this character may not stand in a YAML file")
    except MarkedYAMLError as error:
        reader.complain(_marked(error), _what(error))
    except _Unreadable as error:
        reader.complain(reader.last, f"what follows is not YAML: {error}")
    return Parsed(root, tuple(reader.problems))


def resolve(text: str) -> bool | int | float | str | None:
    """A plain scalar by the core schema. Numbers of more than 18 digits stay texts.

    >>> [resolve(text) for text in ("no", "1e3", "8", "~", "true", "$5/M")]
    ['no', 1000.0, 8, None, True, '$5/M']
    """
    if text in CONSTANTS:
        return CONSTANTS[text]
    if WHOLE.fullmatch(text):
        return int(text)
    if FRACTION.fullmatch(text):
        return float(text)
    return text


def _at(event: Event) -> At:
    return event.start_mark.line + 1, event.start_mark.column + 1


def _marked(error: MarkedYAMLError) -> At:
    mark = error.problem_mark or error.context_mark
    return (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)


def _what(error: MarkedYAMLError) -> str:
    return "this is not YAML: " + ", ".join(part for part in (error.context, error.problem) if part)


def _position(text: str, position: int) -> At:
    before = LINE_END.split(text[:position])
    return len(before), len(before[-1]) + 1
