"""Laws of prompts that are under way and begin alike."""

from hypothesis import given
from hypothesis import strategies as st

from gateway.live.crowds import MOST_TOLD, Crowds
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
def test_a_prompt_is_counted_once_and_gone_when_it_goes(under_way: list[list[bytes]], asked: list[bytes]) -> None:
    room = Crowds()
    marks = [room.come(keys(blocks)) for blocks in under_way]
    depth = len(asked)
    begin = 1 << depth.bit_length() - 1 if depth else 0
    alike = sum(blocks[:begin] == asked[:begin] for blocks in under_way if begin and len(blocks) >= begin)
    assert room.alike(keys(asked), depth) == alike
    for mark in marks:
        room.go(mark)
    assert len(room) == 0
    assert room.told() == ()


@given(st.lists(PROMPT, max_size=40))
def test_what_is_told_is_so_and_leaves_out_no_crowd_for_a_smaller_one(under_way: list[list[bytes]]) -> None:
    room = Crowds()
    for blocks in under_way:
        room.come(keys(blocks))
    all_of_them = [mark for blocks in under_way for mark in landmarks(keys(blocks))]
    told = dict(room.told())
    assert len(told) <= MOST_TOLD
    assert all(all_of_them.count(mark) == count for mark, count in told.items())
    least = min(told.values(), default=0)
    assert all(all_of_them.count(mark) <= max(least, 1) for mark in set(all_of_them) - told.keys())
