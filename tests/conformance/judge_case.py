"""A case's `then:` against what was seen. Objects match as subsets, lists whole and in order."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from conformance.seen import Seen
from conformance.world import World


def includes(found: Any, wanted: Any, at: str) -> None:
    if isinstance(wanted, Mapping):
        for key, value in wanted.items():
            assert isinstance(found, Mapping), f"{at} is {found!r} and no object"
            assert key in found, f"{at}.{key} is missing from {found!r}"
            includes(found[key], value, f"{at}.{key}")
    elif isinstance(wanted, list):
        assert len(found) == len(wanted), f"{at}: {found!r} has not {len(wanted)} items"
        for index, value in enumerate(wanted):
            includes(found[index], value, f"{at}[{index}]")
    else:
        assert found == wanted, f"{at} is {found!r}, not {wanted!r}"


def judge(then: Mapping[str, Any], seen: Seen, world: World) -> None:
    for word, wanted in then.items():
        if wanted is not None:
            CHECKS[word](wanted, seen, world)


def _headers(wanted: Mapping[str, str], seen: Seen, world: World) -> None:
    includes({**seen.headers}, wanted, "headers")


def _headers_lack(wanted: list[str], seen: Seen, world: World) -> None:
    assert not set(wanted) & set(seen.headers), f"headers {set(wanted) & set(seen.headers)} must not be there"


def _json(wanted: Any, seen: Seen, world: World) -> None:
    includes(seen.json, wanted, "json")


def _message_matches(wanted: str, seen: Seen, world: World) -> None:
    assert re.search(wanted, seen.json["error"]["message"]), seen.json


def _bytes_lack(wanted: list[str], seen: Seen, world: World) -> None:
    for text in wanted:
        assert text.encode() not in seen.body, f"{text} is in {seen.body!r}"


def _bytes_have(wanted: list[str], seen: Seen, world: World) -> None:
    for text in wanted:
        assert text.encode() in seen.body, f"{text} is not in {seen.body!r}"


def _upstreams(wanted: Mapping[str, Any], seen: Seen, world: World) -> None:
    for name, expected in wanted.items():
        _upstream(expected, world.upstreams[name], name)


def _upstream(expected: Mapping[str, Any], upstream: Any, name: str) -> None:
    if "calls" in expected:
        assert len(upstream.received) == expected["calls"], f"{name} got {len(upstream.received)} calls"
    if "path" in expected:
        assert upstream.last.path == expected["path"]
    includes(dict(upstream.last.headers) if upstream.received else {}, expected.get("headers", {}), f"{name}.headers")
    for header in expected.get("headers_lack", ()):
        assert upstream.last.header(header) is None, f"{name} got the header {header}"
    if "json" in expected:
        includes(upstream.last.json, expected["json"], f"{name}.json")
    for key in expected.get("json_lacks", ()):
        assert key not in upstream.last.json, f"{name} got the field {key}"
    for text in expected.get("bytes_lack", ()):
        sent = json.dumps([[got.headers, got.body.decode("latin-1")] for got in upstream.received])
        assert text not in sent, f"{name} was sent {text}"


def _names(wanted: str, seen: Seen, world: World) -> None:
    """Each event is named as its type."""
    assert wanted == "types"
    assert seen.names == [event["type"] for event in seen.events]


def _numbered(wanted: bool, seen: Seen, world: World) -> None:
    """Each event has its place in the stream as its number."""
    assert [event["sequence_number"] for event in seen.events] == list(range(len(seen.events)))


def _count(of: Callable[[Seen], int]) -> Callable[[Any, Seen, World], None]:
    def check(wanted: int, seen: Seen, world: World) -> None:
        assert of(seen) == wanted, f"{of(seen)} and not {wanted}: {seen.body!r}"

    return check


def _of(read: Callable[[Seen], Any], at: str) -> Callable[[Any, Seen, World], None]:
    return lambda wanted, seen, world: includes(read(seen), wanted, at)


CHECKS: dict[str, Callable[[Any, Seen, World], None]] = {
    "status": _of(lambda seen: seen.status, "status"),
    "headers": _headers,
    "headers_lack": _headers_lack,
    "json": _json,
    "message_matches": _message_matches,
    "bytes_lack": _bytes_lack,
    "bytes_have": _bytes_have,
    "upstreams": _upstreams,
    "text": _of(lambda seen: seen.text(), "text"),
    "texts": _of(lambda seen: {key: seen.text(key) for key in range(2)}, "texts"),
    "finish": _of(lambda seen: seen.finishes(), "finish"),
    "finishes": _of(lambda seen: {key: seen.finishes(key) for key in range(2)}, "finishes"),
    "tool_calls": _of(lambda seen: seen.tool_calls(), "tool_calls"),
    "errors": _of(lambda seen: seen.errors, "errors"),
    "events": _of(lambda seen: seen.events, "events"),
    "event_types": _of(lambda seen: [event["type"] for event in seen.events], "types of events"),
    "names": _names,
    "numbered": _numbered,
    "item_ids": _count(lambda seen: len(seen.item_ids)),
    "last_event": _of(lambda seen: seen.events[-1], "last event"),
    "usage_events": _count(lambda seen: len(seen.usage_events)),
    "empty_choices": _count(lambda seen: sum(not chunk["choices"] for chunk in seen.chunks)),
    "choice_indices": _of(
        lambda seen: sorted({choice["index"] for chunk in seen.chunks for choice in chunk["choices"]}), "choice indices"
    ),
    "ids": _count(lambda seen: len({chunk["id"] for chunk in seen.chunks})),
    "models": _of(lambda seen: sorted({chunk["model"] for chunk in seen.chunks}), "models"),
    "role_deltas": _count(lambda seen: sum("role" in delta for delta in seen.deltas())),
    "content_events": _count(lambda seen: sum(bool(delta.get("content")) for delta in seen.deltas())),
    "dones": _count(lambda seen: seen.dones),
    "last_data": _of(lambda seen: seen.last, "last data"),
}
