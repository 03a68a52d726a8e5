"""Tool calls that servers tell in odd ways: whatever is left out or said twice, clients read the calls that were made."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from backends.dialects.openai_chat.calls import CallFragments, whole_calls
from backends.dialects.openai_chat.pieces import Pieces, object_of

ARGUMENTS = st.dictionaries(st.sampled_from("ab"), st.integers(0, 9) | st.sampled_from(["}", '"', "{}"]), max_size=2)
CALLS = st.lists(st.tuples(st.sampled_from(["f", "g"]), ARGUMENTS), min_size=1, max_size=4)
IDS = st.sampled_from(["own", "none", "empty", "same"])
INDICES = st.sampled_from(["own", "none", "zero"])


def told(place: int, name: str, arguments: object, id: str, index: str) -> dict[str, Any]:
    ids = {"own": {"id": f"call_{place}"}, "none": {}, "empty": {"id": ""}, "same": {"id": "call_x"}}[id]
    indices = {"own": {"index": place}, "none": {}, "zero": {"index": 0}}[index]
    return {**ids, **indices, "function": {"name": name, "arguments": arguments}}


def joined(fragments: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    """As the clients' libraries join them: by index, strings one behind the other."""
    calls: dict[int, tuple[str, str]] = {}
    for fragment in fragments:
        name, arguments = calls.get(fragment["index"], ("", ""))
        said = fragment.get("function", {})
        calls[fragment["index"]] = name + said.get("name", ""), arguments + said.get("arguments", "")
    return [(name, json.loads(arguments)) for _, (name, arguments) in sorted(calls.items())]


@given(CALLS, IDS, INDICES, st.booleans())
def test_calls_that_come_whole_stay_apart_whatever_names_them(
    calls: list[tuple[str, Any]], id: str, index: str, as_text: bool
) -> None:
    if id == "same" and index != "own":
        return  # nothing tells such calls apart
    fragments = CallFragments()
    said = [
        told(place, name, json.dumps(arguments) if as_text else arguments, id, index)
        for place, (name, arguments) in enumerate(calls)
    ]

    shown = [fragments.push(fragment) for fragment in said] + fragments.unsaid()

    assert joined(shown) == calls
    ids = [fragment["id"] for fragment in shown if "id" in fragment]
    assert all(ids)
    assert len(set(ids)) == len(ids) == len(calls)


@given(CALLS, st.sampled_from(["own", "none", "empty"]), st.integers(1, 5), st.booleans())
def test_calls_in_pieces_are_joined_though_their_names_come_again(
    calls: list[tuple[str, Any]], id: str, size: int, again: bool
) -> None:
    fragments, shown = CallFragments(), []
    for place, (name, arguments) in enumerate(calls):
        text = json.dumps(arguments)
        for at in range(0, len(text), size):
            piece = told(place, name, text[at : at + size], id, "own")
            shown.append(
                fragments.push(piece if again or not at else {**piece, "function": {"arguments": text[at : at + size]}})
            )

    assert joined(shown + fragments.unsaid()) == calls


@given(
    st.text('{}[]":,\\ a1') | ARGUMENTS.map(json.dumps),
    st.lists(st.integers(1, 6), max_size=9),
    st.text("{} a\u00a0", max_size=3),
)
def test_pieces_are_an_object_when_their_text_is_one(text: str, sizes: list[int], behind: str) -> None:
    pieces, said, at = Pieces(), text + behind, 0
    for size in [*sizes, len(said)]:
        pieces.all.append(said[at : at + size])
        at += size

        assert pieces.is_object == (object_of(said[:at]) is not None)


@given(CALLS, IDS)
def test_whole_calls_have_ids_of_their_own_and_arguments_that_can_be_read(
    calls: list[tuple[str, Any]], id: str
) -> None:
    said = [told(place, name, arguments or None, id, "none") for place, (name, arguments) in enumerate(calls)]

    shown = whole_calls(said)

    assert [(call["function"]["name"], json.loads(call["function"]["arguments"])) for call in shown] == calls
    assert len({call["id"] for call in shown if call["id"]}) == len(calls)
    assert all(call["type"] == "function" for call in shown)
