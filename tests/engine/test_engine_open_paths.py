"""Which code runs a model is told where it is not the fast one."""

import logging
from dataclasses import replace

import pytest
from saved_models import make, save

from backends.engine.models import native_model
from backends.engine.models.device import DeviceMissing, torch_has_cuda
from backends.engine.models.torch_model import TorchModel
from backends.engine.open import model_of, open_engine
from backends.engine.weights.opening import open_weights
from policies.catalogue import Run

RUN = Run(weights="mine", precision="float32", kv_tokens=64)


@pytest.fixture
def weights(tmp_path):
    return open_weights(save(make("llama"), tmp_path / "m"))


def test_a_model_that_native_kernels_cannot_run_runs_on_torch_and_says_why(weights, caplog):
    windowed = replace(weights, spec=replace(weights.spec, sliding_window=8))
    why_not = native_model.available_for(windowed.spec)

    with caplog.at_level(logging.WARNING, "turnout.engine"):
        model = model_of(RUN, windowed)

    assert why_not is not None
    assert isinstance(model, TorchModel)
    assert caplog.messages == [f"mine runs on torch, several times slower than native kernels: {why_not}"]


def test_a_model_that_native_kernels_run_needs_no_words(weights, caplog):
    if why_not := native_model.available_for(weights.spec):
        pytest.skip(f"no native kernels here: {why_not}")

    with caplog.at_level(logging.WARNING, "turnout.engine"):
        model = model_of(RUN, weights)

    assert isinstance(model, native_model.NativeModel)
    assert caplog.messages == []


def test_a_device_that_is_not_there_is_told_before_weights_are_read(tmp_path):
    if torch_has_cuda():
        pytest.skip("a CUDA device is here")

    with pytest.raises(DeviceMissing, match="`device: auto` takes the CPU"):
        open_engine(Run(weights="mine", device="cuda"), tmp_path / "no such weights")
