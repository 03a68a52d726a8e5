"""A policy file as commands take it: read, or all that is wrong with it; and money as they write it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.terminal import fail
from gateway.live.classifier import Classifiers, PolicyReader
from gateway.settings import BadSettings, Settings
from gateway.wiring import read_policy
from policies.budgets.plan import Budget
from policies.language.load import load_policy
from policies.policy import Policy

PolicyArgument = Annotated[Path, typer.Argument(help="the policy file", show_default=False)]


@dataclass(frozen=True, slots=True)
class Opened:
    """A policy that has no problems, and the classifier that it was read with."""

    policy: Policy
    untested: tuple[str, ...]
    reader: PolicyReader


@contextmanager
def opened(path: Path, *, encoder: bool = True) -> Iterator[Opened]:
    """The policy and its classifier, which is closed after the block; or the problems on stderr and exit code 2.

    Without an encoder, which takes seconds to start, the file's own tests of texts are not run.
    """
    settings = Settings(policy=path)
    try:
        with Classifiers(settings.artefact, settings.embedder).reading(encoder=encoder) as reader:
            estimate = reader.estimate if encoder else None
            text = read_policy(path)
            loaded = load_policy(
                text, name=str(path), calibrate=reader.calibrate, estimate=estimate, weigh=reader.weigh
            )
            if loaded.policy is None:
                fail("\n".join(problem.render() for problem in loaded.problems))
            yield Opened(loaded.policy, loaded.untested, reader)
    except BadSettings as error:
        fail(str(error))


def dollars(microusd: int) -> str:
    """Micro-dollars as dollars.

    >>> dollars(1_234)
    '$0.001234'
    """
    return f"${microusd / 1e6:.6f}"


def amount_of(budget: Budget, amount: int) -> str:
    """In the budget's unit."""
    return dollars(amount) if budget.unit == "microusd" else f"{amount} tokens"
