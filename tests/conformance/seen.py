"""What a client made of an answer: the way the official SDKs read it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx


@dataclass
class Seen:
    """`texts`, `finishes` and `tool_calls` by choice; strings of deltas are joined as the SDKs join them."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    events: list[Any] = field(default_factory=list)
    dones: int = 0
    last: str = ""
    names: list[str] = field(default_factory=list)

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def errors(self) -> list[Any]:
        return [event for event in self.events if "error" in event]

    @property
    def chunks(self) -> list[Any]:
        return [event for event in self.events if "error" not in event]

    @property
    def usage_events(self) -> list[Any]:
        return [event for event in self.chunks if event.get("usage")]

    @property
    def item_ids(self) -> set[str]:
        """Of output items, wherever an event names one."""
        items = [
            item for event in self.events for item in [event.get("item"), *event.get("response", {}).get("output", ())]
        ]
        return {event["item_id"] for event in self.events if "item_id" in event} | {
            item["id"] for item in items if item
        }

    def deltas(self, index: int = 0) -> list[Any]:
        choices = [choice for event in self.chunks for choice in event["choices"]]
        return [choice["delta"] for choice in choices if choice["index"] == index]

    def text(self, index: int = 0) -> str:
        return "".join(delta.get("content") or "" for delta in self.deltas(index))

    def finishes(self, index: int = 0) -> list[str]:
        choices = [choice for event in self.chunks for choice in event["choices"] if choice["index"] == index]
        return [choice["finish_reason"] for choice in choices if choice.get("finish_reason")]

    def tool_calls(self) -> list[dict[str, str]]:
        calls: dict[int, dict[str, str]] = {}
        for delta in self.deltas():
            for piece in delta.get("tool_calls", ()):
                call = calls.setdefault(piece["index"], {"id": "", "name": "", "arguments": ""})
                call["id"] += piece.get("id") or ""
                call["name"] += piece["function"].get("name") or ""
                call["arguments"] += piece["function"].get("arguments") or ""
        return [calls[index] for index in sorted(calls)]


def seen_of(response: httpx.Response) -> Seen:
    seen = Seen(response.status_code, response.headers, response.content)
    if response.headers.get("content-type", "").startswith("text/event-stream"):
        datas = [line[6:] for line in response.text.split("\n") if line.startswith("data: ")]
        seen.events = [json.loads(data) for data in datas if data != "[DONE]"]
        seen.names = [line[7:] for line in response.text.split("\n") if line.startswith("event: ")]
        seen.dones = datas.count("[DONE]")
        seen.last = datas[-1] if datas else ""
    return seen
