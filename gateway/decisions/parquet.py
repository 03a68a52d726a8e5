"""A log as one table in Parquet: a row for each decision, what callers said of it beside it."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.decisions.evidence import first_of
from gateway.decisions.record import DecisionRecord, FeedbackRecord, Record, SignalRecord
from gateway.decisions.replay import decisions
from gateway.decisions.worth import Key, last_words, worth_of

if TYPE_CHECKING:
    import pyarrow

ROWS = 10_000
"""Of one row group: so many are in memory at once."""

Cell = object
Beside = tuple[FeedbackRecord | None, Sequence[str]]
"""The last word that rates a decision, and the signals of it."""

COLUMNS: Mapping[str, tuple[str, Callable[[DecisionRecord, Beside], Cell]]] = {
    "at": ("timestamp[us, UTC]", lambda r, _: round(r.at * 1e6)),
    "request_id": ("string", lambda r, _: r.request_id),
    "tenant": ("string", lambda r, _: r.tenant),
    "plan": ("string", lambda r, _: r.facts.plan),
    "route": ("string", lambda r, _: r.decision.route),
    "policy_hash": ("string", lambda r, _: r.decision.policy_hash),
    "artefact": ("string", lambda r, _: r.decision.artefact),
    "requested": ("string", lambda r, _: r.facts.requested),
    "chosen": ("string", lambda r, _: first_of(r.decision)),
    "instead_of": ("string", lambda r, _: r.decision.instead_of),
    "probability": ("double", lambda r, _: r.probability),
    "propensity": ("map<string, double>", lambda r, _: list(r.decision.propensity.items())),
    "p_good": ("map<string, double>", lambda r, _: list(r.estimate.p_good.items())),
    "abstains": ("string", lambda r, _: r.estimate.abstains),
    "language": ("string", lambda r, _: r.estimate.language),
    "answered_by": ("string", lambda r, _: r.outcome.answered_by and r.outcome.answered_by.model),
    "replica": ("string", lambda r, _: r.outcome.answered_by and r.outcome.answered_by.replica),
    "reason": ("string", lambda r, _: r.outcome.reason),
    "dialect": ("string", lambda r, _: r.outcome.dialect),
    "stream": ("bool", lambda r, _: r.facts.stream),
    "user_turns": ("int64", lambda r, _: r.facts.user_turns),
    "escalated_to": ("string", lambda r, _: r.facts.escalated_to),
    "was_on": ("string", lambda r, _: r.facts.was_on),
    "task": ("string", lambda r, _: r.facts.task),
    "stuck_turns": ("int64", lambda r, _: r.facts.stuck.turns),
    "status": ("int64", lambda r, _: r.outcome.status),
    "end": ("string", lambda r, _: r.outcome.end),
    "error_code": ("string", lambda r, _: r.outcome.error_code),
    "attempts": ("int64", lambda r, _: r.outcome.attempts),
    "prompt_tokens": ("int64", lambda r, _: r.outcome.usage and r.outcome.usage.prompt_tokens),
    "cached_tokens": ("int64", lambda r, _: r.outcome.usage and r.outcome.usage.cached_tokens),
    "completion_tokens": ("int64", lambda r, _: r.outcome.usage and r.outcome.usage.completion_tokens),
    "microusd": ("int64", lambda r, _: r.outcome.microusd),
    "ttft_ms": ("double", lambda r, _: r.outcome.ttft_ms),
    "duration_ms": ("double", lambda r, _: r.outcome.duration_ms),
    "judgement": ("string", lambda r, _: r.outcome.judgement),
    "p_correct": ("double", lambda r, _: r.outcome.p_correct),
    "weighed_as": ("string", lambda r, _: r.outcome.weighed_as),
    "worth": ("double", lambda _, beside: None if beside[0] is None else worth_of(beside[0])),
    "signals": ("list<string>", lambda _, beside: list(beside[1])),
}
"""Name -> type and where it comes from. Money in micro-dollars, `worth` 0 to 1: the last word that rates the answer."""


def export(records: Callable[[], Iterable[Record]], path: Path, rows_at_once: int = ROWS) -> int:
    """Writes the decisions of a log, which is read twice; how many they are. Needs pyarrow. Raises OSError."""
    import pyarrow.parquet

    schema = pyarrow.schema([(name, type_of(kind)) for name, (kind, _) in COLUMNS.items()])
    beside, rows = beside_of(records()), iter(decisions(records()))
    count = 0
    with pyarrow.parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        while batch := list(islice(rows, rows_at_once)):
            writer.write_table(pyarrow.table(cells(batch, beside), schema=schema))
            count += len(batch)
    return count


def beside_of(records: Iterable[Record]) -> Callable[[Key], Beside]:
    """What is told of each request."""
    words: list[Record] = []
    signals: dict[Key, list[str]] = defaultdict(list)
    for record in records:
        if isinstance(record, FeedbackRecord):
            words.append(record)
        elif isinstance(record, SignalRecord):
            signals[record.tenant, record.request_id].append(record.signal)
    last = last_words(words)
    return lambda key: (last.get(key), signals.get(key, ()))


def cells(batch: Sequence[DecisionRecord], beside: Callable[[Key], Beside]) -> Mapping[str, list[Cell]]:
    """Columns of these decisions."""
    pairs = [(record, beside((record.tenant, record.request_id))) for record in batch]
    return {name: [read(record, told) for record, told in pairs] for name, (_, read) in COLUMNS.items()}


def type_of(kind: str) -> "pyarrow.DataType":
    import pyarrow

    made = {
        "timestamp[us, UTC]": pyarrow.timestamp("us", tz="UTC"),
        "map<string, double>": pyarrow.map_(pyarrow.string(), pyarrow.float64()),
        "list<string>": pyarrow.list_(pyarrow.string()),
        "double": pyarrow.float64(),
        "bool": pyarrow.bool_(),
    }
    return made.get(kind) or pyarrow.type_for_alias(kind)
