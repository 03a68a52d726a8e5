"""A log, read again: every whole line, oldest first. It may be written to meanwhile.

Each process writes into a folder of its own; a folder of such folders is read as one log, by time.
"""

from collections.abc import Iterator
from contextlib import suppress
from heapq import merge
from operator import attrgetter
from pathlib import Path

import msgspec

from gateway.decisions.record import SCHEMA, DecisionRecord, FeedbackRecord, Record, ShadowRecord, SignalRecord
from gateway.decisions.segments import segments_in


class LogRefused(ValueError):
    """A log that is not read here; the message says which line of which file, and why."""


class Head(msgspec.Struct):
    record: str
    schema: int


HEAD = msgspec.json.Decoder(Head)
KNOWN: dict[
    str,
    msgspec.json.Decoder[DecisionRecord]
    | msgspec.json.Decoder[FeedbackRecord]
    | msgspec.json.Decoder[SignalRecord]
    | msgspec.json.Decoder[ShadowRecord],
] = {
    "decision": msgspec.json.Decoder(DecisionRecord),
    "feedback": msgspec.json.Decoder(FeedbackRecord),
    "signal": msgspec.json.Decoder(SignalRecord),
    "shadow": msgspec.json.Decoder(ShadowRecord),
}


def read_log(path: Path) -> Iterator[Record]:
    """Every record of a log, of the logs in a folder, or of one segment. Raises LogRefused, and OSError where there is nothing
    to read.

    What is torn at the end of a segment, by a process or a machine that ended there, is left out.
    """
    if not path.is_dir():
        return read_segment(path)
    logs = logs_in(path)
    if not logs:
        raise LogRefused(f"{path} holds no segment of a decision log (*.jsonl), nor do the folders in it")
    return merge(*[read_folder(log) for log in logs], key=attrgetter("at"))


def logs_in(path: Path) -> list[Path]:
    """The folders that hold segments: this one, and those in it."""
    inside = sorted(folder for folder in path.iterdir() if folder.is_dir())
    return [folder for folder in (path, *inside) if segments_in(folder)]


def read_folder(folder: Path) -> Iterator[Record]:
    """The log of one process, in the order in which it was written."""
    for segment in segments_in(folder):
        with suppress(FileNotFoundError):  # the oldest goes when there are too many
            yield from read_segment(segment)


def read_segment(path: Path) -> Iterator[Record]:
    """Line by line; a torn line is never JSON, for its last brace is missing."""
    with path.open("rb") as lines:
        before = lines.readline()
        number = 1
        while before:
            line = lines.readline()
            record = whole(path, number, before, is_last=not line)
            if record is not None:
                yield record
            before = line
            number += 1


def whole(path: Path, number: int, line: bytes, *, is_last: bool) -> Record | None:
    """The record of a line; None for what is torn."""
    try:
        return read_line(path, number, line)
    except msgspec.DecodeError as error:
        if is_last and not isinstance(error, msgspec.ValidationError):
            return None
        raise LogRefused(f"{path}:{number}: this is no record of a decision log: {error}") from None


def read_line(path: Path, number: int, line: bytes) -> Record:
    """Raises LogRefused, and msgspec.DecodeError for what is no record."""
    head = HEAD.decode(line)
    if head.record not in KNOWN:
        raise LogRefused(f"{path}:{number}: a record of kind {head.record!r} is not known here")
    if head.schema != SCHEMA:
        raise LogRefused(f"{path}:{number}: schema {head.schema} is not known here; this version reads schema {SCHEMA}")
    return KNOWN[head.record].decode(line)
