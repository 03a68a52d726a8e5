"""What one tenant sends an engine tells another nothing: how much of its prompts is found, and in which steps it is answered,
depend on how much others send, never on whether it begins like its own."""

from generating import ENDLESS, Answer, batch_of, finish, job
from hypothesis import example, given, settings
from hypothesis import strategies as st
from stub_models import PrefixModel

from backends.engine.budget import Budget
from backends.messages import Sampling

BLOCKS = 14
SAMPLED = Sampling(temperature=1.0, seed=3)
OTHERS_OUTPUT = 1
"""One token, so that no block of theirs is made of what the model says to them."""

heads = st.sampled_from([(), (1,) * 20, (1,) * 48, (1, 2) * 24])
orders = st.tuples(
    st.sampled_from(["watched", "other"]),
    heads,
    st.lists(st.integers(0, 7), min_size=1, max_size=20),
    st.integers(0, 3),
)
HISTORIES = st.lists(orders, min_size=1, max_size=10)
SAME = [("other", (1,) * 48, [1], 3), ("watched", (1,) * 48, [1], 3)]


def what_is_seen(history, *, others_salt: bytes, shift: int, running: int) -> list[tuple[int, str, list[int]]]:
    """By the watched tenant: tokens found of each of its prompts, its text, and the steps that gave it."""
    batch = batch_of(
        PrefixModel(blocks=BLOCKS), ENDLESS, budget=Budget(max_running=running, mixed_rows=24, prefill_rows=24)
    )
    watched, answers, step = dict[int, Answer](), dict[int, Answer](), 0
    for number, (who, head, tail, steps) in enumerate(history, 1):
        prompt = (*head, *tail)
        answers[number] = Answer()
        if who == "watched":
            watched[number] = answers[number]
            batch.add(number, job(prompt, 6, SAMPLED, salt=b"watched"), number)
        else:
            batch.add(number, job([token + shift for token in prompt], OTHERS_OUTPUT, salt=others_salt), number)
        for _ in range(steps):
            for output in batch.step():
                answers[output.job_id].add(output, step)
            step += 1
    finish(batch, answers)
    return [(a.usage.cached_tokens if a.usage else -1, a.text, a.steps) for a in watched.values()]


@settings(max_examples=60, deadline=None)
@given(history=HISTORIES, running=st.sampled_from([1, 2, 8]))
@example(history=SAME, running=2)
def test_whether_others_send_the_same_prompts_changes_nothing_that_a_tenant_sees(history, running):
    alike = what_is_seen(history, others_salt=b"other", shift=0, running=running)
    unlike = what_is_seen(history, others_salt=b"other", shift=8, running=running)

    assert alike == unlike


def test_with_one_salt_it_would_be_seen():
    found = [what_is_seen(SAME, others_salt=b"watched", shift=shift, running=2)[0][0] for shift in (0, 8)]

    assert found == [48, 0]
