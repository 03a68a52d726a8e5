"""Tools from the chat template of the weights: they are in the prompt, and a model whose template takes none does not open."""

import asyncio

import pytest
from generating import until
from saved_models import make, save

from backends.engine.open import open_engine
from backends.engine.weights.faults import WeightsError
from backends.messages import ChatRequest, Message
from policies.catalogue import Run

QWEN = """{%- if tools %}<|im_start|>system
Functions within <tools></tools>:{% for tool in tools %}
{{ tool | tojson }}{% endfor %}
Answer with <tool_call></tool_call>.<|im_end|>
{% endif %}{% for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}{% if message.tool_calls %}{% for call in message.tool_calls %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{% endfor %}{% endif %}<|im_end|>
{% endfor %}<|im_start|>assistant
"""
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
CALL = {"id": "abcdefghi", "type": "function", "function": {"name": "look", "arguments": '{"at": "Ghent"}'}}


def asked(**fields):
    return ChatRequest(raw=b"", model="m", messages=(Message(role="user", text="Where?"),), **fields)


async def test_tools_are_in_the_prompt_unless_they_may_not_be_called(tmp_path):
    path = save(make("qwen2"), tmp_path / "m")
    (path / "chat_template.jinja").write_text(QWEN)
    upstream = open_engine(Run(weights="m", precision="float32", kv_tokens=4096), path, calls_tools=True)
    try:
        plain, offered, forbidden = (
            upstream.prepare(request, b"")
            for request in (asked(), asked(tools=(TOOL,)), asked(tools=(TOOL,), tool_choice="none"))
        )
        turns = (
            Message(role="user", text="Where?"),
            Message(role="assistant", tool_calls=(CALL,)),
            Message(role="tool", text="In Belgium.", tool_call_id="abcdefghi"),
        )
        history = upstream.prepare(ChatRequest(raw=b"", model="m", messages=turns), b"")
        await asyncio.to_thread(until, lambda: upstream.load().ready, 60)
    finally:
        await upstream.aclose()

    assert forbidden.token_ids == plain.token_ids
    assert offered.tokens > plain.tokens + 10
    assert history.tokens > plain.tokens + 10


def test_a_model_whose_template_takes_no_tools_does_not_open_as_one_that_calls_them(tmp_path):
    path = save(make("llama"), tmp_path / "m")

    with pytest.raises(WeightsError, match="cannot call tools"):
        open_engine(Run(weights="m", precision="float32", kv_tokens=512), path, calls_tools=True)
