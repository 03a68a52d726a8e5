"""How a model of a precision holds each tensor, and as which tensors of a file: one table for writing, checking and reading."""

from collections.abc import Iterator
from dataclasses import dataclass

from backends.engine.spec import ModelSpec
from backends.engine.weights.codes import GROUP
from backends.engine.weights.shapes import Shape, shapes
from policies.catalogue import Precision

CODES, SCALES, MINIMA = ".codes", ".scales", ".minima"


@dataclass(frozen=True, slots=True)
class Part:
    """One tensor of a file: what follows the weight's name, the kind of its numbers, its shape."""

    suffix: str
    kind: str
    shape: Shape


def form_of(name: str, shape: Shape, precision: Precision) -> Precision:
    """How the tensor of this canonical name is held: vectors in float32, embeddings in no less than bfloat16, a head in no
    less than int8."""
    if len(shape) == 1:
        return "float32"
    if name == "embed":
        return "float32" if precision == "float32" else "bfloat16"
    return "int8" if name == "head" and precision == "int4" else precision


def parts(form: Precision, shape: Shape) -> tuple[Part, ...]:
    """What one tensor of this logical shape becomes."""
    if form in ("float32", "bfloat16"):
        return (Part("", "F32" if form == "float32" else "BF16", shape),)
    rows, columns = shape
    groups = Part(SCALES, "F16", (rows, -(-columns // GROUP)))
    if form == "int8":
        return Part(CODES, "I8", shape), groups
    return Part(CODES, "U8", (rows, (columns + 1) // 2)), groups, Part(MINIMA, "F16", groups.shape)


def held_tensors(spec: ModelSpec, precision: Precision) -> Iterator[tuple[str, str, Shape, Precision]]:
    """(canonical name, the tensor it is made from, shape, form) of all that a model of this precision holds.

    A head tied to embeddings that are held otherwise is one of its own.
    """
    whole = shapes(spec)
    for name, shape in whole.items():
        yield name, name, shape, form_of(name, shape, precision)
    embed = whole["embed"]
    if spec.tied_head and form_of("head", embed, precision) != form_of("embed", embed, precision):
        yield "head", "embed", embed, form_of("head", embed, precision)
