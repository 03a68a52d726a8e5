"""What a server of Anthropic's Messages says, for `fake_upstream` to play."""

from collections.abc import Callable
from typing import Any

from upstreams.fake_upstream import Received, Reply, compact, json_reply, sse_reply


def told(value: dict[str, Any]) -> bytes:
    """One event, named by its type."""
    return b"event: " + value["type"].encode() + b"\ndata: " + compact(value) + b"\n\n"


def start(**usage: int) -> bytes:
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "theirs", "content": []}
    counts = {"input_tokens": 7, "output_tokens": 1, **usage}
    return told(
        {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None, "usage": counts}}
    )


def block(index: int, opening: dict[str, Any], *deltas: dict[str, Any]) -> bytes:
    first = told({"type": "content_block_start", "index": index, "content_block": opening})
    rest = [told({"type": "content_block_delta", "index": index, "delta": delta}) for delta in deltas]
    return b"".join((first, *rest, told({"type": "content_block_stop", "index": index})))


def text_block(index: int, *texts: str) -> bytes:
    return block(index, {"type": "text", "text": ""}, *[{"type": "text_delta", "text": text} for text in texts])


def ending(reason: str = "end_turn", **usage: int) -> bytes:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return told({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 3, **usage}})


STOP = told({"type": "message_stop"})


def messages_stream(*texts: str) -> Reply:
    return sse_reply(start(), text_block(0, *texts), ending(output_tokens=len(texts)), STOP)


def message(*content: dict[str, Any], reason: str = "end_turn", **usage: int) -> dict[str, Any]:
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "theirs"}
    counts = {"input_tokens": 7, "output_tokens": 3, **usage}
    return {**head, "content": list(content), "stop_reason": reason, "stop_sequence": None, "usage": counts}


def messages_either(*texts: str) -> Callable[[Received], Reply]:
    """Streams when asked to, answers whole otherwise, counts where that is asked."""

    def reply(got: Received) -> Reply:
        if got.path.partition("?")[0].endswith("/count_tokens"):
            return json_reply({"input_tokens": 11})
        if got.json.get("stream"):
            return messages_stream(*texts)
        return json_reply(message({"type": "text", "text": "".join(texts)}))

    return reply
