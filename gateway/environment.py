"""Variables as settings: `TURNOUT_LIMITS__BODY_BYTES` is `body_bytes` of `limits`. Names know no case."""

import json
from collections.abc import Mapping

PREFIX, WITHIN = "turnout_", "__"


def told_by(variables: Mapping[str, str]) -> dict[str, object]:
    """Those that are ours, by the fields that they are of. Raises ValueError where one says that a field is a text, and
    another that it is a group.

    >>> told_by({"TURNOUT_PORT": "1", "turnout_limits__headers": "2", "HOME": "/"})
    {'limits': {'headers': '2'}, 'port': '1'}
    """
    told: dict[str, object] = {}
    for name in sorted(variables, key=str.lower):
        if name.lower().startswith(PREFIX):
            *groups, field = name.lower().removeprefix(PREFIX).split(WITHIN)
            within = told
            for group in groups:
                within = _group(within, group)
            within[field] = variables[name]
    return told


def _group(within: dict[str, object], name: str) -> dict[str, object]:
    found = within.setdefault(name, {})
    if isinstance(found, str):
        found = within[name] = from_json(found)
    if not isinstance(found, dict):
        raise ValueError(f"{name} is set as a whole to what has no fields, and a field of it beside")
    return found


def over(told: Mapping[str, object], given: Mapping[str, object]) -> dict[str, object]:
    """What is `given` wins, field by field.

    >>> over({"port": 1, "limits": {"headers": 2}}, {"limits": {"json_depth": 3}})
    {'port': 1, 'limits': {'headers': 2, 'json_depth': 3}}
    """
    both = dict(told)
    for name, value in given.items():
        before = both.get(name)
        both[name] = over(before, value) if isinstance(before, dict) and isinstance(value, Mapping) else value
    return both


def from_json(value: object) -> object:
    """A list or a group as a variable has it. Raises ValueError."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError as error:
        raise ValueError(f"is not JSON: {error}") from None
