"""A trained classifier on disk: numbers in safetensors, everything else in a JSON manifest. No code is ever loaded."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from classifiers.embedding.static import open_static
from classifiers.features.lexical import NAMES
from classifiers.files import write_whole
from classifiers.heads import blend, quick
from classifiers.heads.blend import Blend
from classifiers.stages import Stages
from classifiers.unfamiliar import oddness
from policies.estimates import Calibration

FORMAT = 2
SHIPPED = Path(__file__).parent / "shipped"
MANIFEST, TENSORS = "manifest.json", "heads.safetensors"
PROBE_TEXT = "What is the capital of France, and why did it become one?"
"""Embedded once in training and once at opening: another encoder gives another vector, and the heads know only theirs."""

_SAME_ENCODER = 0.98
"""Cosine. Another encoder's vector is near 0; the same one's in 8-bit numbers, as it is served, above 0.99."""

_SAME_TABLE = 0.999


class ArtefactRefused(Exception):
    """The artefact is missing, damaged or of another make; the message says which and what to do."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`card` says what it was trained on and what that means; `metrics` how it did; `digest` covers all of it.

    `width` is that of the encoder's vectors. What saving fills in has a default."""

    format: int
    name: str
    trained_on: str
    encoder: str
    width: int = 0
    features: tuple[str, ...]
    heads: tuple[str, ...]
    tensors_sha256: str
    card: Mapping[str, object]
    metrics: Mapping[str, float]
    libraries: Mapping[str, str]
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Artefact:
    """Ready to score: the blend, the calibration sample, the embedding of PROBE_TEXT (float32 [width]); and the stages
    before and beside the blend, None where it was trained without."""

    manifest: Manifest
    blend: Blend
    calibration: Calibration
    probe: NDArray[np.float32]
    stages: Stages | None = None


def save(
    folder: Path,
    manifest: Manifest,
    head: Blend,
    sample: NDArray[np.float64],
    probe: NDArray[np.float32],
    *,
    stages: Stages | None = None,
) -> Manifest:
    """Writes both files or none; fills in digests and width. `sample` is P(good) of held-out prompts, [n, models]."""
    from safetensors.numpy import save as pack

    parts = {
        **head.tensors(),
        "sample": sample.astype(np.float32),
        "probe": probe.astype(np.float32),
        **_packed(stages),
    }
    packed = pack({name: np.ascontiguousarray(value) for name, value in sorted(parts.items())})
    sealed = msgspec.structs.replace(
        manifest, width=len(probe), tensors_sha256=hashlib.sha256(packed).hexdigest(), digest=""
    )
    sealed = msgspec.structs.replace(sealed, digest=_digest(sealed))
    text = json.dumps(msgspec.to_builtins(sealed), indent=1, ensure_ascii=False) + "\n"
    write_whole({folder / TENSORS: packed, folder / MANIFEST: text.encode()})
    return sealed


def load(folder: Path) -> Artefact:
    """Reads and verifies. Raises ArtefactRefused."""
    from safetensors.numpy import load as unpack

    manifest = _manifest(folder)
    packed = _bytes(folder / TENSORS)
    if hashlib.sha256(packed).hexdigest() != manifest.tensors_sha256:
        raise ArtefactRefused(f"{folder / TENSORS} is not the file that {MANIFEST} describes: fetch or train it again")
    tensors = unpack(packed)
    try:
        sample = {head: tuple(tensors["sample"][:, at].tolist()) for at, head in enumerate(manifest.heads)}
        calibration = Calibration(p_good=sample, artefact=manifest.digest[:12])
        return Artefact(manifest, blend.load(tensors), calibration, tensors["probe"], _stages(folder, tensors))
    except KeyError as error:
        raise ArtefactRefused(f"{folder / TENSORS} lacks the tensor {error}") from error


def _packed(stages: Stages | None) -> dict[str, NDArray[np.generic]]:
    if stages is None:
        return {}
    named = {f"quick.{name}": value for name, value in stages.quick.tensors().items()}
    odd = {} if stages.odd is None else {f"odd.{name}": value for name, value in stages.odd.tensors().items()}
    return {**named, **odd, "least": np.array([stages.least]), "static_probe": open_static().vector(PROBE_TEXT)}


def _stages(folder: Path, tensors: Mapping[str, NDArray[np.generic]]) -> Stages | None:
    if "static_probe" not in tensors:
        return None
    if float(np.dot(tensors["static_probe"], open_static().vector(PROBE_TEXT))) < _SAME_TABLE:
        raise ArtefactRefused(f"{folder} was trained beside another table of static vectors: train it again")
    odd = oddness.load(blend.under(tensors, "odd.")) if "odd.nats" in tensors else None
    return Stages(quick.load(blend.under(tensors, "quick.")), np.asarray(tensors["least"], np.float64).item(), odd)


def check_encoder(artefact: Artefact, probe: NDArray[np.float32]) -> None:
    """Raises ArtefactRefused unless `probe`, an encoder's vector of PROBE_TEXT, is the one of training."""
    if probe.shape != artefact.probe.shape or float(np.dot(probe, artefact.probe)) < _SAME_ENCODER:
        raise ArtefactRefused(
            f"the artefact {artefact.manifest.name} was trained on the encoder {artefact.manifest.encoder}, and this "
            "one answers differently: name that encoder, or train again with this one"
        )


def _manifest(folder: Path) -> Manifest:
    try:
        manifest = msgspec.json.decode(_bytes(folder / MANIFEST), type=Manifest)
    except msgspec.DecodeError as error:
        raise ArtefactRefused(f"{folder / MANIFEST} is not a manifest of format {FORMAT}: {error}") from error
    if _digest(msgspec.structs.replace(manifest, digest="")) != manifest.digest:
        raise ArtefactRefused(f"{folder / MANIFEST} was changed after it was written: fetch or train it again")
    if manifest.format != FORMAT or manifest.features != NAMES:
        raise ArtefactRefused(f"{folder} was trained for another release (other features): train it again")
    return manifest


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ArtefactRefused(f"{path} cannot be read: {error.strerror}") from error


def _digest(manifest: Manifest) -> str:
    """sha256 over the manifest as sorted JSON, its own digest left empty."""
    return hashlib.sha256(msgspec.json.encode(manifest, order="sorted")).hexdigest()
