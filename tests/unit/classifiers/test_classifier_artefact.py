"""What is saved comes back; what was touched is refused."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from classifiers import artefact
from classifiers.artefact import MANIFEST, TENSORS, Artefact, ArtefactRefused
from classifiers.heads.blend import Blend
from classifiers.heads.inputs import Inputs, Targets


@pytest.fixture
def copy(saved: Path, tmp_path: Path) -> Path:
    return shutil.copytree(saved, tmp_path / "copy")


def test_a_saved_blend_answers_as_before(trained: Artefact, blend: Blend, rows: tuple[Inputs, Targets]):
    assert np.array_equal(trained.blend.p_good(rows[0]), blend.p_good(rows[0]))


def test_a_row_scores_alike_alone_and_in_company(blend: Blend, rows: tuple[Inputs, Targets]):
    together = blend.p_good(rows[0])

    alone = np.concatenate([blend.p_good(rows[0].take(np.array([at]))) for at in range(20)])

    assert np.allclose(alone, together[:20], atol=1e-9)


def test_the_blend_learned_what_separates_the_rows(blend: Blend, rows: tuple[Inputs, Targets]):
    p_small, quality = blend.p_good(rows[0])[:, 0], rows[1].quality[:, 0]

    assert p_small[quality > 0.5].mean() - p_small[quality < 0.5].mean() > 0.2


def test_the_calibration_sample_is_aligned_by_position(trained: Artefact):
    sample = trained.calibration

    assert len(sample) == 50
    assert set(sample.p_good) == {"small", "large"}
    assert len(set(map(len, sample.p_good.values()))) == 1


def test_one_flipped_bit_of_the_numbers_is_refused(copy: Path):
    packed = bytearray((copy / TENSORS).read_bytes())
    packed[-1] ^= 1
    (copy / TENSORS).write_bytes(packed)

    with pytest.raises(ArtefactRefused, match="not the file that"):
        artefact.load(copy)


def test_a_manifest_that_was_edited_is_refused(copy: Path):
    manifest = json.loads((copy / MANIFEST).read_text())
    manifest["metrics"]["apgr"] = 0.99
    (copy / MANIFEST).write_text(json.dumps(manifest))

    with pytest.raises(ArtefactRefused, match="changed after it was written"):
        artefact.load(copy)


@pytest.mark.parametrize("text", ["", "[]", '{"format": 1}', "\x00"])
def test_what_is_no_manifest_is_refused(copy: Path, text: str):
    (copy / MANIFEST).write_text(text)

    with pytest.raises(ArtefactRefused, match="is not a manifest"):
        artefact.load(copy)


def test_a_folder_without_an_artefact_is_named(tmp_path: Path):
    with pytest.raises(ArtefactRefused, match=r"manifest\.json cannot be read"):
        artefact.load(tmp_path)
