"""What one tenant sends tells another nothing: where its requests go, what is believed of them and what is found of them in a
cache depend on how much others send, never on whether it begins like its own. Counts and choices, so no clock is asked."""

import asyncio
from collections import OrderedDict, deque
from dataclasses import dataclass, field

from hypothesis import example, given, settings
from hypothesis import strategies as st

from backends.messages import Usage
from backends.upstream import Load, Prepared
from gateway.live.in_force import Live
from gateway.live.replicas import Claim, Replica
from gateway.request.affinity import Affinity
from gateway.request.snapshot import World, look_around, take_snapshot
from gateway.state.memory import MemoryResidency
from policies.affinity.blocks import chain, seed
from policies.catalogue import Model
from policies.decide import decide
from policies.decision import Call
from policies.estimates import Estimate
from policies.facts import Facts
from policies.policy import Policy, Route

NAMES = ("http://a/v1", "http://b/v1", "http://c/v1")
POLICY = Policy(hash="0" * 16, name="p", models={"m": Model(name="m", at=NAMES)}, routes=(Route(name="r", use="m"),))
BLOCK_TOKENS = 128
CACHE_BLOCKS = 9
ELSEWHERE = 100


class Server:
    """What the gateway asks of an upstream between requests; it says nothing of what it holds."""

    def load(self) -> Load:
        return Load()

    def resident_tokens(self, prepared: Prepared) -> None:
        return None


@dataclass
class Fleet:
    """The gateway's own way from a prompt to a replica and back, before servers with a cache of CACHE_BLOCKS each."""

    now: float = 0.0
    seen: list[object] = field(default_factory=list)
    caches: dict[str, OrderedDict[bytes, None]] = field(default_factory=lambda: {name: OrderedDict() for name in NAMES})
    under_way: deque[tuple[Call, Prepared, int | None, Claim, bool]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        made = tuple(Replica("m", name, name, upstream=Server(), clock=self.clock) for name in NAMES)  # type: ignore[arg-type]
        self.live = Live(POLICY, {"m": made})
        self.world = World(MemoryResidency(60, self.clock), self.clock)
        self.affinity = Affinity(self.live, self.world.residency)

    def clock(self) -> float:
        return self.now

    async def ask(self, salt: bytes, prompt: list[int], first: int = 0, *, is_watched: bool) -> None:
        """A prompt of blocks that are numbered from `first` on. The draw between equal replicas, which a salt makes secret, is
        the same wherever that is."""
        draw = chain(seed("m", salt), [bytes([block]) for block in prompt])[0].hex()
        prompt = [first + block for block in prompt]
        keys = chain(seed("m", salt), [bytes([block]) for block in prompt])
        prepared = Prepared(tokens=BLOCK_TOKENS * len(keys), exact=False, blocks=keys, block_tokens=BLOCK_TOKENS)
        seen = await look_around(self.live, ["m"], {"m": prepared}, self.world)
        snapshot = take_snapshot(self.live, {"m": prepared}, seen, self.world)
        facts = Facts(prompt_tokens=prepared.tokens, prefix=draw)
        call = decide(POLICY, facts, Estimate(), snapshot).choice
        assert isinstance(call, Call)
        state = next(state for state in snapshot.replicas["m"] if state.replica == call.replica)
        claim = Claim(self.live.replica(call), prepared.tokens, state.resident_tokens, keys)
        self.affinity.sent(self.live.replica(call), prepared)
        self.under_way.append((call, prepared, state.sent_tokens, claim, is_watched))
        if is_watched:
            self.seen.append((call, snapshot.replicas["m"]))

    async def answer(self) -> None:
        """The oldest."""
        if not self.under_way:
            return
        call, prepared, sent, claim, is_watched = self.under_way.popleft()
        cached = self._serve(self.caches[call.replica], prepared.blocks)
        claim.prefilled()
        usage = Usage(prompt_tokens=prepared.tokens, completion_tokens=1, cached_tokens=cached * BLOCK_TOKENS)
        if (learning := self.affinity.answered(self.live.replica(call), prepared, sent, usage)) is not None:
            await learning
        claim.release()
        if is_watched:
            self.seen.append(cached)

    @staticmethod
    def _serve(cache: OrderedDict[bytes, None], blocks: tuple[bytes, ...]) -> int:
        found = next((n for n, block in enumerate(blocks) if block not in cache), len(blocks))
        for block in reversed(blocks):
            cache[block] = None
            cache.move_to_end(block)
        while len(cache) > CACHE_BLOCKS:
            cache.popitem(last=False)
        return found


prompts = st.lists(st.integers(0, 1), min_size=1, max_size=6)
steps = st.one_of(
    st.tuples(st.just("watched"), prompts),
    st.tuples(st.just("other"), prompts),
    st.tuples(st.sampled_from(["answer", "wait"]), st.just([0])),
)


def what_is_seen(history: list[tuple[str, list[int]]], *, others_salt: bytes, others_blocks_from: int) -> list[object]:
    """By the watched tenant, of its own requests, when the others' prompts are made of these blocks."""
    fleet = Fleet()

    async def play() -> None:
        for verb, prompt in history:
            fleet.now += 20.0 if verb == "wait" else 0.5
            if verb == "watched":
                await fleet.ask(b"watched", prompt, is_watched=True)
            elif verb == "other":
                await fleet.ask(others_salt, prompt, others_blocks_from, is_watched=False)
            else:
                await fleet.answer()
        while fleet.under_way:
            await fleet.answer()

    asyncio.run(play())
    return fleet.seen


SAME = [("other", [0, 1, 0, 1]), ("answer", [0]), ("watched", [0, 1, 0, 1]), ("answer", [0])]


@settings(max_examples=60, deadline=None)
@given(history=st.lists(steps, min_size=1, max_size=25))
@example(history=SAME)
def test_whether_others_send_the_same_prompts_changes_nothing_that_a_tenant_sees(history: list[tuple[str, list[int]]]):
    alike = what_is_seen(history, others_salt=b"other", others_blocks_from=0)
    unlike = what_is_seen(history, others_salt=b"other", others_blocks_from=ELSEWHERE)

    assert alike == unlike


def test_with_one_salt_it_would_be_seen():
    alike = what_is_seen(SAME, others_salt=b"watched", others_blocks_from=0)
    unlike = what_is_seen(SAME, others_salt=b"watched", others_blocks_from=ELSEWHERE)

    assert (alike[-1], unlike[-1]) == (4, 0)
