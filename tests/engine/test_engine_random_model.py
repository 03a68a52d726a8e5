"""The laws of the engine on real, tiny, random models: the same tokens, bit for bit the same log-probabilities."""

from random import Random

import pytest
import torch
from generating import GREEDY, batch_of, job, run
from stub_models import OracleDrafter, StubVocabulary

from backends.engine.budget import Budget
from backends.engine.draft.model import ModelDrafter
from backends.engine.draft.ngram import NgramDrafter
from backends.messages import Sampling

VOCABULARY = StubVocabulary({token: f"{token} " for token in range(512)}, eos=2, size=512)
DETAILED = Sampling(temperature=0.0, logprobs=True, top_logprobs=2)
SAMPLED = Sampling(temperature=0.8, seed=42, top_p=0.9, logprobs=True)
REPEATING = Sampling(temperature=0.0, repetition_penalty=1.1, presence_penalty=0.2, logit_bias={7: 1.0})


def prompts(count, seed=0, *, lengths=(5, 60)):
    random = Random(seed)
    return [tuple(random.randrange(3, 512) for _ in range(random.randint(*lengths))) for _ in range(count)]


def told(answers):
    return [(each.tokens, each.end, each.logprobs) for each in answers]


def alone(model, jobs):
    return [run(batch_of(model, VOCABULARY), [each])[0] for each in jobs]


@pytest.mark.parametrize("sampling", [DETAILED, SAMPLED, REPEATING], ids=["greedy", "sampled", "penalties"])
def test_batched_and_chunked_equals_alone_and_whole(tiny, sampling):
    jobs = [job(prompt, 24, sampling) for prompt in prompts(6)]

    together = run(batch_of(tiny(), VOCABULARY, budget=Budget(mixed_rows=20, prefill_rows=20)), jobs)

    assert told(together) == told(alone(tiny(), jobs))


def copied(tiny):
    """The same weights over a KV pool of their own."""
    return tiny(blocks=97)


def compare_with_plain(tiny, jobs, kind, k):
    plain = alone(tiny(), jobs)
    known = {each.prompt: answer.tokens for each, answer in zip(jobs, plain, strict=True)}
    drafters = {
        "ngram": NgramDrafter,
        "model": lambda: ModelDrafter(tiny(blocks=96, seed=1), 512, lambda: 0.0),
        "itself": lambda: ModelDrafter(copied(tiny), 512, lambda: 0.0),
        "wrong": lambda: OracleDrafter(known, lies=True),
        "right": lambda: OracleDrafter(known),
    }

    def drafted(jobs):
        return run(batch_of(tiny(blocks=96), VOCABULARY, drafter=drafters[kind](), max_draft=k), jobs)

    crowd = [answer for start in range(0, len(jobs), 8) for answer in drafted(jobs[start : start + 8])]
    assert told(crowd) == told(plain)
    assert told(drafted([jobs[0]])) == told(plain[:1])


@pytest.mark.parametrize("k", [1, 2, 4, 8])
@pytest.mark.parametrize("kind", ["ngram", "model", "itself", "wrong", "right"])
def test_eng_04_greedy_with_drafts_equals_greedy_without(tiny, kind, k):
    samplings = (DETAILED, REPEATING, DETAILED, SAMPLED)

    compare_with_plain(
        tiny, [job(prompt, 16, sampling) for prompt, sampling in zip(prompts(4), samplings, strict=True)], kind, k
    )


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 2, 4, 8])
@pytest.mark.parametrize("kind", ["ngram", "model", "itself", "wrong", "right"])
def test_eng_04_for_twenty_prompts_and_sixty_four_tokens(tiny, kind, k):
    compare_with_plain(tiny, [job(prompt, 64, DETAILED) for prompt in prompts(20)], kind, k)


def test_eng_06_a_seed_fixes_the_tokens_whatever_else_is_in_the_batch(tiny):
    [prompt] = prompts(1)
    seeded = job(prompt, 16, Sampling(temperature=0.8, seed=42))
    [by_itself] = alone(tiny(), [seeded])
    company = [seeded, job(prompt, 16, Sampling(temperature=0.8)), job(prompt, 16, Sampling(temperature=0.8, seed=7))]

    for batch in (batch_of(tiny(), VOCABULARY), batch_of(tiny(), VOCABULARY, drafter=NgramDrafter())):
        together = run(batch, [seeded, *company])
        assert together[0].tokens == together[1].tokens == by_itself.tokens
        assert together[3].tokens != by_itself.tokens


def test_eng_07_preemption_changes_timing_only(tiny):
    vocabulary = StubVocabulary({token: f"{token} " for token in range(512)}, eos=None, size=512)
    jobs = [job(prompt, 35, DETAILED) for prompt in prompts(2, lengths=(34, 34))]
    batch = batch_of(tiny(blocks=7), vocabulary)

    squeezed = run(batch, jobs)

    assert batch.scheduler.preemptions >= 1
    assert told(squeezed) == told(run(batch_of(tiny(), vocabulary), [each])[0] for each in jobs)
    assert [each.end for each in squeezed] == ["length", "length"]


def test_eng_10_a_prefix_cache_hit_changes_no_result(tiny):
    batch = batch_of(tiny(), VOCABULARY)
    [prompt] = prompts(1, lengths=(50, 50))

    answers = [run(batch, [job(prompt, 8, each)])[0] for each in (DETAILED, DETAILED, SAMPLED, SAMPLED, REPEATING)]

    assert [answer.usage.cached_tokens for answer in answers] == [0, 48, 48, 48, 48]
    assert told(answers[:1]) == told(answers[1:2])
    assert told(answers[2:3]) == told(answers[3:4])
    assert told(answers[4:]) == told(alone(tiny(), [job(prompt, 8, REPEATING)]))


def test_a_prefix_shared_within_one_step_equals_one_computed_alone(tiny):
    [prefix] = prompts(1, lengths=(128, 128))
    jobs = [job((*prefix, *tail), 6, DETAILED) for tail in prompts(16, seed=4, lengths=(7, 30))]
    batch = batch_of(tiny(blocks=128), VOCABULARY)

    together = run(batch, jobs)

    decoded = sum(len(answer.tokens) - 1 for answer in together)
    assert batch.scheduler.computed_tokens == 128 + sum(len(each.prompt) - 128 for each in jobs) + decoded
    assert told(together) == told(alone(tiny(blocks=128), jobs))


def test_sixty_four_jobs_at_once_all_finish_as_alone(tiny):
    jobs = [job(prompt, 5, GREEDY) for prompt in prompts(64, seed=2, lengths=(5, 20))]

    together = run(batch_of(tiny(blocks=128), VOCABULARY, drafter=NgramDrafter()), jobs)

    assert told(together) == told(alone(tiny(blocks=128), jobs))


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)
