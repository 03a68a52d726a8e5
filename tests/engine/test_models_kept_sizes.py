"""Agreeing sizes from one start to the next: measured once, believed after a glance, never needed."""

from dataclasses import replace

import msgspec
import pytest
from random_models import random_source, random_spec

from backends.engine.models.kept import KeptSizes
from backends.engine.models.measured import Measuring
from backends.engine.models.plan import Sizes
from backends.engine.models.torch_model import TorchModel

SIZES = Sizes(rows=(1, 2, 4), queries=(1, 2), sequences=(1, 2), tile=(16, 32), head=(1, 2))


class Measured:
    """Counts how often all is measured."""

    def __init__(self, *, holds=True):
        self.times, self._holds = 0, holds

    def sizes(self):
        self.times += 1
        return SIZES

    def still_hold(self, sizes):
        return self._holds and sizes == SIZES


def test_a_second_start_measures_nothing(tmp_path):
    measured = Measured()

    found = [KeptSizes(tmp_path / "new", "m").of(random_spec(), "int8", measured) for _ in range(3)]

    assert (found, measured.times) == ([SIZES] * 3, 1)


@pytest.mark.parametrize(
    ("machine", "spec", "precision"),
    [("other", random_spec(), "int8"), ("m", random_spec(hidden=128), "int8"), ("m", random_spec(), "int4")],
)
def test_another_machine_shape_or_precision_is_measured_anew(machine, spec, precision, tmp_path):
    measured = Measured()
    KeptSizes(tmp_path, "m").of(random_spec(), "int8", measured)

    KeptSizes(tmp_path, machine).of(spec, precision, measured)

    assert measured.times == 2


@pytest.mark.parametrize("text", [b"", b"[]", b"{", b'{"rows": [1]}', b"\xff" * 20_000, b"null"])
def test_what_is_no_record_is_measured_and_written_anew(text, tmp_path):
    KeptSizes(tmp_path, "m").of(random_spec(), "int8", Measured())
    [path] = tmp_path.iterdir()
    path.write_bytes(text)

    assert KeptSizes(tmp_path, "m").of(random_spec(), "int8", Measured()) == SIZES
    assert msgspec.json.decode(path.read_bytes(), type=Sizes) == SIZES


def test_sizes_that_agree_no_more_are_measured_anew(tmp_path):
    KeptSizes(tmp_path, "m").of(random_spec(), "int8", Measured())
    changed = Measured(holds=False)

    KeptSizes(tmp_path, "m").of(random_spec(), "int8", changed)

    assert changed.times == 1


def test_where_nothing_can_be_kept_all_is_measured(tmp_path):
    (tmp_path / "file").touch()

    assert KeptSizes(tmp_path / "file", "m").of(random_spec(), "int8", Measured()) == SIZES


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "int4"])
def test_what_a_model_measured_holds_at_a_glance_and_what_was_never_offered_does_not(precision):
    spec = random_spec(hidden=64)
    model = TorchModel(spec, random_source(spec), precision, blocks=8, threads=1, sizes=SIZES)
    measuring = Measuring(spec, model._layers[0], model._logits, model._turns[-1:])

    sizes = measuring.sizes()

    assert measuring.still_hold(sizes)
    assert not measuring.still_hold(replace(sizes, rows=(*sizes.rows, 7)))
    assert not measuring.still_hold(replace(sizes, tile=()))
    assert not measuring.still_hold(replace(sizes, head=sizes.head[::-1]))


def test_a_model_from_kept_sizes_is_the_model_that_measured(tmp_path):
    spec = random_spec()
    first, second = (
        TorchModel(spec, random_source(spec), "int8", blocks=8, threads=1, sizes=KeptSizes(tmp_path, "m"))
        for _ in range(2)
    )

    assert first._planner.sizes == second._planner.sizes
    assert len(list(tmp_path.iterdir())) == 1
