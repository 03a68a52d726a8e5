"""`turnout models list | pull | quantise | compare`: weights on this machine."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.terminal import bar, fail, say, show_table, unwound
from gateway.extras import needs
from gateway.settings import BadSettings, Settings

if TYPE_CHECKING:
    from backends.engine.api import LanguageModel
    from backends.engine.store.quantise import Quantised, StoredPrecision
    from backends.engine.weights.opening import OpenedWeights
    from policies.catalogue import Precision

_QUALITY = ("precision", "perplexity", "divergence (nats)", "same greedy token")
_PLAIN = ("F32", "F16", "BF16")

app = typer.Typer(help="Weights for engines in this process.", no_args_is_help=True)


def _cache(given: Path | None) -> Path:
    return given or Settings().cache_dir


CacheOption = Annotated[Path | None, typer.Option("--cache", help="cache directory (default: TURNOUT_CACHE_DIR)")]


@app.command("list")
def list_models(cache: CacheOption = None) -> None:
    """What can be loaded by name, and where it stands."""
    from backends.engine.store import listing

    rows = [(e.name, e.state, f"{e.bytes / 1e6:,.0f}", e.path, e.about) for e in listing(_cache(cache))]
    show_table(f"weights ({_cache(cache)})", ("name", "state", "MB", "path", "about"), rows)


@app.command()
def pull(
    name: Annotated[str, typer.Argument(help="a built-in name, a hub name (org/model), a directory, or a .gguf file")],
    cache: CacheOption = None,
) -> None:
    """Fetch weights, verify them, and keep them in the cache. Run it again after an interruption: it goes on."""
    from backends.engine.store import PullFailed
    from backends.engine.store import pull as pull_weights

    try:
        with bar() as progress:
            pulled = pull_weights(name, _cache(cache), progress)
    except PullFailed as error:
        fail(str(error), code=1)
    say(f"{'reusing' if pulled.reused else 'pulled'} {name}: {pulled.bytes / 1e6:,.0f} MB at {pulled.path}")


class Held(StrEnum):
    """What weights can be written in."""

    bfloat16 = "bfloat16"
    int8 = "int8"
    int4 = "int4"


@app.command()
def quantise(
    name: Annotated[str, typer.Argument(help="a pulled name, a directory, or a .gguf file", show_default=False)],
    precision: Annotated[Held, typer.Option(help="what to hold them in", show_default=False)],
    out: Annotated[Path, typer.Option(help="the directory to write; it must not exist", show_default=False)],
    report: Annotated[bool, typer.Option("--report", help="measure perplexity and agreement with float32 too")] = False,
    cache: CacheOption = None,
) -> None:
    """Write weights in fewer bits as a directory that `run: {weights: DIR}` takes; they compute what rounding at load does."""
    try:
        with needs("engine", "quantising reads weights"):
            made = _quantised(name, _cache(cache), precision.value, out)
        say(f"wrote {made.bytes / 1e6:,.0f} MB to {made.path}, from {', '.join(made.source_kinds)}")
        if any(kind not in _PLAIN for kind in made.source_kinds):
            say("the source is rounded itself: its values were taken as they are, what it lost does not come back")
        rows = _qualities(name, _cache(cache), ("float32", precision.value)) if report else []
    except BadSettings as error:
        fail(str(error), code=1)
    if report:
        show_table(name, _QUALITY, rows)
    else:
        say(f"what it costs in quality: turnout models compare {name}")


def _quantised(name: str, cache: Path, precision: "StoredPrecision", out: Path) -> "Quantised":
    from backends.engine.store import WeightsMissing, resolve
    from backends.engine.store.quantise import QuantiseFailed
    from backends.engine.store.quantise import quantise as write
    from backends.engine.weights.faults import WeightsError

    try:
        with unwound(), bar() as progress:
            return write(resolve(name, cache), precision, out.expanduser(), progress)
    except (WeightsMissing, WeightsError, QuantiseFailed) as error:
        raise BadSettings(str(error)) from None


@app.command()
def compare(
    name: Annotated[str, typer.Argument(help="a pulled name, a directory, or a .gguf file", show_default=False)],
    cache: CacheOption = None,
) -> None:
    """What each precision costs in quality, against float32 on a short text, as the engine would run it here."""
    try:
        with needs("engine", "comparing runs the model"):
            rows = _qualities(name, _cache(cache))
    except BadSettings as error:
        fail(str(error), code=1)
    show_table(name, _QUALITY, rows)


def _qualities(name: str, cache: Path, precisions: "Sequence[Precision] | None" = None) -> list[tuple[str, ...]]:
    """A row for each precision, all when None."""
    from backends.engine.api import BLOCK_TOKENS
    from backends.engine.models.precision_report import PRECISIONS, quantise_report
    from backends.engine.open import model_of
    from backends.engine.store import WeightsMissing, resolve
    from backends.engine.weights.faults import WeightsError
    from policies.catalogue import Run

    def build(opened: "OpenedWeights", precision: "Precision", blocks: int) -> "LanguageModel":
        say(f"measuring {precision}")
        return model_of(Run(weights=name, precision=precision, kv_tokens=blocks * BLOCK_TOKENS), opened)

    try:
        report = list(quantise_report(resolve(name, cache), precisions or PRECISIONS, build))
    except (WeightsMissing, WeightsError) as error:
        raise BadSettings(str(error)) from None
    return [(q.precision, f"{q.perplexity:.2f}", f"{q.divergence:.4f}", f"{q.agreement:.1%}") for q in report]
