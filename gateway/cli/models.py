"""`turnout models list | pull`: weights on this machine."""

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.terminal import bar, fail, say, show_table
from gateway.settings import Settings

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
