"""`turnout models list | pull | compare`: weights on this machine."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.terminal import bar, fail, say, show_table
from gateway.extras import needs
from gateway.request.identity import BadSettings
from gateway.settings import Settings

if TYPE_CHECKING:
    from backends.engine.api import LanguageModel
    from backends.engine.weights.opening import OpenedWeights
    from policies.catalogue import Precision

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
    show_table(name, ("precision", "perplexity", "divergence (nats)", "same greedy token"), rows)


def _qualities(name: str, cache: Path) -> list[tuple[str, ...]]:
    from backends.engine.api import BLOCK_TOKENS
    from backends.engine.open import model_of
    from backends.engine.precision_report import quantise_report
    from backends.engine.store import WeightsMissing, resolve
    from backends.engine.weights.faults import WeightsError
    from policies.catalogue import Run

    def build(opened: "OpenedWeights", precision: "Precision", blocks: int) -> "LanguageModel":
        say(f"measuring {precision}")
        return model_of(Run(weights=name, precision=precision, kv_tokens=blocks * BLOCK_TOKENS), opened)

    try:
        report = list(quantise_report(resolve(name, cache), build=build))
    except (WeightsMissing, WeightsError) as error:
        raise BadSettings(str(error)) from None
    return [(q.precision, f"{q.perplexity:.2f}", f"{q.divergence:.4f}", f"{q.agreement:.1%}") for q in report]
