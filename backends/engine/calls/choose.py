"""The reader for a request: by the format of the model's template, and what the request allows."""

from collections.abc import Callable, Mapping

from backends.engine.calls.bare import BareCalls
from backends.engine.calls.reader import CallFormat, CallReader
from backends.engine.calls.tagged import TaggedCalls
from backends.errors import UpstreamError
from backends.messages import ChatRequest

READERS: Mapping[CallFormat, Callable[[frozenset[str]], CallReader]] = {
    "hermes": lambda functions: TaggedCalls(),
    "llama3": lambda functions: BareCalls("{", "parameters", functions),
    "mistral": lambda functions: BareCalls("[", "arguments", functions),
}


def may_call(request: ChatRequest) -> bool:
    return bool(request.tools) and request.tool_choice != "none"


def refuse_tools(request: ChatRequest, speaks: CallFormat | None) -> None:
    """Raises UpstreamError (unsupported) for what a model cannot be held to, by its name."""
    if not may_call(request):
        return
    if speaks is None:
        raise UpstreamError("unsupported", "this model calls no tools", sent=False, param="tools")
    for place, tool in enumerate(request.tools):
        if tool.get("type") != "function":
            message = "this model calls functions, and no tools of other types"
            raise UpstreamError("unsupported", message, sent=False, param=f"tools[{place}].type")
    if request.tool_choice != "auto":
        message = "this model calls tools when it sees fit, and cannot be made to"
        raise UpstreamError("unsupported", message, sent=False, param="tool_choice")
    if (request.response_format or {}).get("type", "text") != "text":
        message = "an answer of this model is either held to a schema or may call tools"
        raise UpstreamError("unsupported", message, sent=False, param="response_format")


def reader_for(request: ChatRequest, speaks: CallFormat | None) -> CallReader | None:
    """None where an answer is text whatever it says."""
    if speaks is None or not may_call(request):
        return None
    functions = (tool.get("function") for tool in request.tools)
    return READERS[speaks](frozenset(one["name"] for one in functions if isinstance(one, Mapping) and "name" in one))
