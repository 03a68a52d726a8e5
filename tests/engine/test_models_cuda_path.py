"""What a GPU would run, without one: shapes on the meta device, graphs with a recorder that replays on the CPU."""

import numpy as np
import pytest
import torch
from random_models import random_source, random_spec
from steps_by_hand import Rows, greedy, logits_of, step_of
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from backends.engine.layers.graphs import Graphs
from backends.engine.models.device import DeviceMissing, chosen, driver_shows
from backends.engine.models.plan import Sizes
from backends.engine.models.torch_model import TorchModel

SIZES = Sizes(rows=(1, 2, 4, 8), queries=(1, 2, 4), sequences=(1, 2, 4), tile=(128, 512), head=(1, 4))
PRECISIONS = ["float32", "bfloat16", "int8", "int4"]


class Recorder:
    """Runs again what it was given, over the memory that it was given: right only if that holds the new pass's values."""

    def __init__(self):
        self.captured = 0

    def __call__(self, run):
        self.captured += 1
        return run


def graphed(precision="float32", **changes):
    spec = random_spec(context=2048, **changes)
    recorder = Recorder()
    model = TorchModel(spec, random_source(spec), precision, blocks=200, threads=1, capture=recorder)
    return model, TorchModel(spec, random_source(spec), precision, blocks=200, threads=1), recorder


def sequences_at(*positions):
    """One row for each sequence, in blocks of its own that lie in no order."""
    blocks = np.random.default_rng(1).permutation(200)
    return step_of(*(Rows([at % 320], at, blocks[40 * i : 40 * i + 40].tolist()) for i, at in enumerate(positions)))


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("family", ["llama", "qwen3"])
def test_a_step_has_the_shape_of_its_logits_on_a_device_that_computes_nothing(precision, family):
    spec = random_spec(family, context=2048)
    model = TorchModel(spec, random_source(spec), precision, blocks=200, device="meta", sizes=SIZES)

    logits = model.compute(step_of(Rows(range(30), 0, range(40)), Rows([5], 600, range(40, 80)), Rows([7], 3, [90])))

    assert (logits.device.type, logits.dtype, logits.shape) == ("meta", torch.float32, (32, spec.vocab_size))
    assert model._pool.kv.device.type == "meta"


@pytest.mark.parametrize("precision", ["float32", "int4"])
def test_a_captured_pass_gives_what_the_eager_one_gives(precision):
    captured, eager, recorder = graphed(precision)
    tokens = np.random.default_rng(0).integers(0, 320, 40).tolist()

    ours, theirs = greedy(captured, tokens, 30, [7, 2, 9, 4, 0]), greedy(eager, tokens, 30, [7, 2, 9, 4, 0])

    assert ours == theirs
    assert recorder.captured <= 5


def test_captured_passes_of_one_shape_differ_in_what_they_are_given():
    captured, eager, recorder = graphed()
    prompts = [np.random.default_rng(i).integers(0, 320, 20).tolist() for i in range(3)]
    for index, prompt in enumerate(prompts):
        for model in (captured, eager):
            logits_of(model, prompt, [20 * index, 20 * index + 3])
    before = recorder.captured

    for token in range(6):
        step = step_of(*(Rows([token + i], 20 + token, [20 * i, 20 * i + 3]) for i in range(3)))
        assert np.allclose(captured.forward(step), eager.forward(step), rtol=1e-4, atol=1e-4)

    assert recorder.captured - before <= 1


def test_sequences_of_any_length_are_one_shape_up_to_the_tile():
    captured, _, recorder = graphed()
    captured.forward(sequences_at(3, 50))
    before = recorder.captured

    captured.forward(sequences_at(90, 17))
    captured.forward(sequences_at(1, 100))

    assert recorder.captured == before


def test_rows_that_pad_a_graph_write_to_a_block_of_their_own():
    captured, _, _ = graphed()
    captured.forward(sequences_at(3, 50, 70))
    before = captured._pool.kv.clone()

    captured.forward(sequences_at(3, 50, 70))

    changed = (before != captured._pool.kv).flatten(3).any(-1).any(1).any(0).nonzero().flatten().tolist()
    assert set(changed) <= {captured._pool.spill}


def test_shapes_beyond_the_limit_run_as_they_are():
    model, eager, recorder = graphed()
    model._stack = Graphs(model._stack._stack, recorder, most=1)
    before = recorder.captured

    for step in (sequences_at(0), sequences_at(0, 0), sequences_at(0, 0, 0, 0, 0)):
        assert np.allclose(model.forward(step), eager.forward(step), rtol=1e-4, atol=1e-4)

    assert recorder.captured == before + 1


class Watched(TorchDispatchMode):
    """Takes the meta device for a GPU: no operation may have tensors of both sides, save for sending from one to the other."""

    def __init__(self, *, may_send: bool):
        super().__init__()
        self._may_send, self.seen = may_send, 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        given = [each for each in tree_leaves((args, kwargs or {})) if isinstance(each, torch.Tensor)]
        found = operation(*args, **(kwargs or {}))
        made = [each for each in tree_leaves(found) if isinstance(each, torch.Tensor)]
        sends = operation.name().startswith(("aten::to.", "aten::_to_copy", "aten::copy_"))
        sides = {each.device.type for each in [*given, *made] if each.dim()}
        assert len(sides) < 2 or (sends and self._may_send), f"{operation.name()} has tensors of {sides}"
        assert self._may_send or sides <= {"meta"}, f"{operation.name()} leaves the device"
        self.seen += "meta" in sides
        return found


STEPS = {
    "prompt": step_of(Rows(range(30), 0, range(40))),
    "mixed": step_of(Rows(range(30), 0, range(40)), Rows([5], 600, range(40, 80)), Rows([7], 3, [90])),
    "decode": step_of(Rows([5], 16, range(40)), Rows([5], 600, range(40, 80)), Rows([7, 8], 3, [90])),
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("kv_precision", ["native", "int8"])
@pytest.mark.parametrize("precision", PRECISIONS)
def test_no_operation_takes_tensors_of_the_host_and_of_the_device(precision, kv_precision, step):
    spec = random_spec("qwen3", context=2048, tied_head=precision != "int8")
    watched = Watched(may_send=True)

    with watched:
        model = TorchModel(
            spec, random_source(spec), precision, blocks=200, kv_precision=kv_precision, device="meta", sizes=SIZES
        )
        model.compute(STEPS[step])

    assert watched.seen > 100


@pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3"])
@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_pass_through_the_layers_never_leaves_the_device_so_a_graph_can_be_captured_of_it(precision, family):
    """Nor does it ask for a value, which this device cannot give."""
    spec = random_spec(family, context=2048)
    model = TorchModel(spec, random_source(spec), precision, blocks=200, device="meta", sizes=SIZES)
    passes = list(model._planner.passes(STEPS["mixed"]))

    with torch.inference_mode(), Watched(may_send=False) as watched:
        for part in passes:
            model._through(part)

    assert watched.seen > 50 * len(passes)


def never():
    raise AssertionError("torch was asked")


def test_auto_is_the_cpu_without_asking_torch_where_no_driver_shows():
    assert chosen("auto", has_driver=lambda: False, has_cuda=never) == "cpu"


def test_auto_is_cuda_where_torch_can_use_it():
    assert chosen("auto", has_driver=lambda: True, has_cuda=lambda: True) == "cuda"
    assert chosen("auto", has_driver=lambda: True, has_cuda=lambda: False) == "cpu"


def test_the_cpu_is_taken_when_it_is_asked_for():
    assert chosen("cpu", has_driver=lambda: True, has_cuda=never) == "cpu"


def test_cuda_that_is_not_there_is_an_error_that_says_what_to_do():
    with pytest.raises(DeviceMissing, match=r"no CUDA device here.*`device: auto`"):
        chosen("cuda", has_driver=lambda: False, has_cuda=lambda: False)


def test_a_driver_shows_by_its_device_file(tmp_path):
    (tmp_path / "there").touch()

    assert driver_shows((tmp_path / "absent", tmp_path / "there"))
    assert not driver_shows((tmp_path / "absent",))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("precision", PRECISIONS)
def test_on_a_gpu_greedy_tokens_with_graphs_equal_those_without(precision):
    from backends.engine.layers.graphs import CudaCapture

    spec = random_spec(context=2048)
    eager = TorchModel(spec, random_source(spec), precision, blocks=64, device="cuda")
    captured = TorchModel(spec, random_source(spec), precision, blocks=64, device="cuda", capture=CudaCapture())

    assert greedy(captured, [5, 6, 7], 40, range(8)) == greedy(eager, [5, 6, 7], 40, range(8))
