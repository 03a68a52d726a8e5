"""Who gets blocks, who waits, who gives way."""

from generating import ENDLESS, Answer, batch_of, finish, job, run
from stub_models import PrefixModel

from backends.engine.budget import Budget
from backends.engine.draft.ngram import NgramDrafter


def alone(each):
    return run(batch_of(PrefixModel(), ENDLESS), [each])[0].tokens


def test_a_prompt_waits_for_blocks_that_are_promised_to_one_under_way():
    long, later = job(tuple(range(15)) * 20, 4), job((1,) * 160, 4)
    batch = batch_of(PrefixModel(blocks=22), ENDLESS, budget=Budget(prefill_rows=40))
    running = []

    answers = {1: Answer(), 2: Answer()}
    batch.add(1, long, 0)
    batch.add(2, later, 0)
    finish(batch, answers, at_step={3: lambda: running.append(batch.load().running)})

    assert running == [1]
    assert [answer.tokens for answer in answers.values()] == [alone(long), alone(later)]


def test_a_prompt_waits_while_the_next_decode_would_have_to_displace_it():
    batch = batch_of(PrefixModel(blocks=4), ENDLESS)

    run(batch, [job((1,) * 32, 10), job((2,) * 32, 10)])

    assert batch.scheduler.preemptions == 0


def test_a_prompt_that_lacks_a_block_does_not_take_it_from_a_decode_of_the_same_step():
    jobs = [job(tuple(range(16)) * 25, 4), job((2,) * 8, 60), job((3,) * 7, 60)]
    batch = batch_of(PrefixModel(blocks=28), ENDLESS, budget=Budget(mixed_rows=24, prefill_rows=24))

    answers = run(batch, jobs)

    assert [answer.tokens for answer in answers] == [alone(each) for each in jobs]


def test_a_prompt_that_was_begun_goes_on_with_blocks_that_a_more_urgent_one_computed():
    begun, urgent = job(tuple(range(10)) * 10, 6, priority=1), job(tuple(range(10)) * 10, 6, priority=0)
    batch = batch_of(PrefixModel(), ENDLESS, budget=Budget(mixed_rows=20, prefill_rows=20))
    answers = {1: Answer(), 2: Answer()}
    batch.add(1, begun, 0)

    finish(batch, answers, at_step={1: lambda: batch.add(2, urgent, 0)})

    assert answers[1].tokens == answers[2].tokens == alone(begun)
    assert batch.scheduler.computed_tokens < 2 * 100


def test_a_full_house_of_decodes_still_lets_a_prompt_in():
    batch = batch_of(PrefixModel(), ENDLESS, budget=Budget(mixed_rows=4))
    answers = {job_id: Answer() for job_id in range(1, 10)}
    for job_id in range(1, 9):
        batch.add(job_id, job((job_id,), 60), 0)

    finish(batch, answers, at_step={10: lambda: batch.add(9, job((3,) * 40, 2), 0)})

    assert answers[9].steps[0] <= 10 + 3


def test_drafts_displace_nobody():
    jobs = [job((1, 2) * 7, 17), job((3, 4) * 7, 17)]
    batch = batch_of(PrefixModel(blocks=4), ENDLESS, drafter=NgramDrafter(), max_draft=8)

    answers = run(batch, jobs)

    assert batch.scheduler.preemptions == 0
    assert [answer.tokens for answer in answers] == [alone(each) for each in jobs]
