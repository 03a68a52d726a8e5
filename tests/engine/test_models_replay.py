"""What is recorded is what runs: the same bits with the interpreter between the operations and without it."""

import pytest
import torch
from random_models import random_source, random_spec
from steps_by_hand import Rows, step_of

from backends.engine.models.torch_model import TorchModel

RECORDABLE = ["int8", "int4"]
STEPS = {
    "one token": [(1, 0)],
    "one token, later": [(1, 150)],
    "a prompt": [(37, 0)],
    "a chunk": [(21, 40)],
    "tokens of some sequences": [(1, 17), (1, 20), (1, 31)],
    "all kinds": [(1, 60), (30, 0), (3, 9)],
    "beyond a tile": [(1, 520)],
}
"""(rows, first position) of each sequence of a step."""


@pytest.fixture(params=RECORDABLE)
def model(request):
    spec = random_spec(layers=3, context=1024)
    return TorchModel(spec, random_source(spec), request.param, blocks=160, threads=1)


def step(name, scattered):
    blocks = list(range(40))[::-1] if scattered else list(range(40))
    sequences = enumerate(STEPS[name])
    return step_of(*(Rows(list(range(rows)), start, [40 * at + b for b in blocks]) for at, (rows, start) in sequences))


def through(model, stack, plan):
    """Hidden states of every pass and what the pool holds after them; the pool begins with noise."""
    with torch.inference_mode():
        model._pool.kv.copy_(torch.randn(model._pool.kv.shape, generator=torch.Generator().manual_seed(0)))
        model._pool.kv[:, :, -2] = 0
        hidden = [
            stack(model._embed.rows(part.tokens), model._turns.index_select(0, part.positions), part.paging)
            for part in model._planner.passes(plan)
        ]
        return torch.cat(hidden), model._pool.kv.clone()


@pytest.mark.parametrize("scattered", [False, True], ids=["in a row", "scattered"])
@pytest.mark.parametrize("name", STEPS)
def test_a_recorded_stack_gives_the_bits_of_the_plain_one(model, name, scattered):
    plan = step(name, scattered)

    recorded = through(model, model._stack, plan)
    plain = through(model, model._stack._stack, plan)

    assert torch.equal(recorded[0], plain[0])
    assert torch.equal(recorded[1], plain[1])


def test_decoding_is_recorded_before_the_first_job(model):
    assert len(model._stack._recorded) == 2
    assert all(recorded is not None for recorded in model._stack._recorded.values())


def test_a_stack_that_cannot_be_recorded_runs_as_it_is():
    spec = random_spec(layers=1)
    model = TorchModel(spec, random_source(spec), "float32", blocks=8, threads=1)

    logits = model.forward(step_of(Rows([3, 4, 5], 0, [1])))

    assert logits.shape == (3, spec.vocab_size)
    if torch.backends.mkldnn.is_available():
        assert set(model._stack._recorded.values()) == {None}
