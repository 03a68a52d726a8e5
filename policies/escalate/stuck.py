"""Is an agent stuck? Its steps in a row that came to nothing: every call failed, or was made before with the same result."""

import re
from collections.abc import Iterable, Sequence

import msgspec


class Stuck(msgspec.Struct, frozen=True):
    """`turns` are the latest steps in a row that came to nothing, `most` the longest such row in the conversation. Of that
    row `failed` had calls that failed, `repeated` had calls that were made before with the same result."""

    turns: int = 0
    most: int = 0
    failed: int = 0
    repeated: int = 0


NOT_STUCK = Stuck()


class Tried(msgspec.Struct, frozen=True):
    """One call of a tool and what came of it. `call` and `result` are digests: equal for equal ones."""

    call: str
    result: str
    failed: bool


Step = Sequence[Tried]
"""The calls of one turn of the model, with their results; empty where it answered instead of calling."""


def stuck_in(steps: Iterable[Step]) -> Stuck:
    """Oldest first. An answer ends a row, and what was tried before it may be tried again.

    >>> read, fails = Tried("read a", "text", False), Tried("run", "Error: no", True)
    >>> stuck_in([[read], [read], [read]])
    Stuck(turns=2, most=2, failed=0, repeated=2)
    >>> stuck_in([[fails], [fails], [read], []])
    Stuck(turns=0, most=2, failed=2, repeated=1)
    """
    row = longest = NOT_STUCK
    seen: set[tuple[str, str]] = set()
    for step in steps:
        known = [(tried.call, tried.result) in seen for tried in step]
        if step and all(tried.failed or again for tried, again in zip(step, known, strict=True)):
            row = _longer(row, failed=any(tried.failed for tried in step), repeated=any(known))
        else:
            row = NOT_STUCK
        longest = row if row.turns > longest.turns else longest
        if not step:
            seen.clear()
        seen.update([(tried.call, tried.result) for tried in step])
    return msgspec.structs.replace(longest, turns=row.turns, most=longest.turns)


def _longer(row: Stuck, *, failed: bool, repeated: bool) -> Stuck:
    return Stuck(turns=row.turns + 1, failed=row.failed + failed, repeated=row.repeated + repeated)


_FAILURE = re.compile(
    r"""\s*(?:<\w+>\s*)?(?:
        (?:error|fatal|exception|panic)(?:\ [\w\ ]{1,40})?(?:\s*[:!]|\s*$)       # Error: ..., error reading file: ...
      | failed\ to\b | (?:failed|failure)\s*[:!]
      | (?:\w+\.)*\w+(?:Error|Exception)\s*(?::|$|\()                           # ValueError: ...
      | Traceback\ \(most\ recent\ call\ last\)
      | \S{1,40}:\ .{0,120}(?:command\ not\ found|no\ such\ file\ or\ directory|permission\ denied)\s*$
      | \{\s*"errors?"\s*:(?!\s*(?:null|""|\[\]|\{\}|false))                     # {"error": "not found"}
      | \{\s*"(?:success|ok)"\s*:\s*false
      | \{\s*"status"\s*:\s*"(?:error|failed|failure)"
      | \[?(?:(?:process|command)\ )?(?:exited\ with|returned|exit)(?:\ exit)?[\ _]?(?:code|status)[:\ ]+(?!0\b)-?\d+
    )""",
    re.VERBOSE | re.IGNORECASE,
)

LOOKED_AT = 400
"""Characters at which a result is known to be a failure."""


def is_failure(result: str) -> bool:
    """Whether a tool says at once that it failed. What only mentions an error does not.

    >>> [is_failure(text) for text in ("Error: no such file", "KeyError: 'a'", '{"error": {"code": 404}}', "exit code: 2")]
    [True, True, True, True]
    >>> [is_failure(text) for text in ("3 errors were fixed", '{"error": null, "rows": 7}', "exit code: 0", "Errors are rare")]
    [False, False, False, False]
    """
    return _FAILURE.match(result[:LOOKED_AT]) is not None
