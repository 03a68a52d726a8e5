"""Laws of prompts that wait and begin alike."""

from hypothesis import given
from hypothesis import strategies as st

from gateway.live.waiting import Waiting
from policies.affinity.alike import landmark, landmarks
from policies.affinity.blocks import chain, seed

PROMPT = st.lists(st.sampled_from([b"a", b"b"]), max_size=12)


def keys(blocks: list[bytes]) -> tuple[bytes, ...]:
    return chain(seed("m", b""), blocks)


@given(PROMPT, PROMPT)
def test_prompts_share_the_landmarks_of_what_they_share(one: list[bytes], other: list[bytes]) -> None:
    shared = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    common = set(landmarks(keys(one))) & set(landmarks(keys(other)))
    assert len(common) == shared.bit_length()
    assert (landmark(keys(one), shared) in common) == (shared > 0)


@given(st.lists(PROMPT, max_size=8), PROMPT)
def test_who_waits_is_counted_once_and_gone_with_the_last(waiting: list[list[bytes]], asked: list[bytes]) -> None:
    room = Waiting()
    marks = [room.come(keys(blocks)) for blocks in waiting]
    depth = len(asked)
    begin = 1 << depth.bit_length() - 1 if depth else 0
    alike = sum(blocks[:begin] == asked[:begin] for blocks in waiting if begin and len(blocks) >= begin)
    assert room.alike(keys(asked), depth) == alike
    assert room.prompts == sum(bool(blocks) for blocks in waiting)
    for mark in marks:
        room.go(mark)
    assert (len(room), room.prompts) == (0, 0)
