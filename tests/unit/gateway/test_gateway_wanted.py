"""What a request asks of its answer, whatever shape its tools have: a server may know tools that are no functions."""

import json
from typing import Any

import pytest

from backends.dialects.openai_chat.request import read_chat
from gateway.request.escalate.listen import wanted_of
from policies.escalate.said import Wanted


def wanted(*tools: dict[str, Any]) -> Wanted:
    asked = {"model": "auto", "messages": [{"role": "user", "content": "hi"}], "tools": tools}
    return wanted_of(read_chat(json.dumps(asked).encode()))


@pytest.mark.parametrize(
    "function", ["x", ["x"], {"name": ["a"]}, {"name": ""}, {"name": None}, 1, True, None], ids=str
)
def test_a_tool_of_an_odd_shape_is_its_servers_to_judge(function: object) -> None:
    assert wanted({"type": "odd", "function": function}).tools == {}


def test_functions_are_wanted_by_name_beside_tools_that_are_none() -> None:
    schema = {"type": "object"}
    function = {"type": "function", "function": {"name": "f", "parameters": schema}}
    assert wanted({"type": "odd"}, function, {"type": "function", "function": {"name": "g"}}).tools == {
        "f": schema,
        "g": {},
    }
