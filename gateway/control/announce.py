"""What a person at a terminal hears while a gateway starts: what it waits for, then a line that works."""

import asyncio
from collections.abc import Callable, Iterator

from gateway.control.health import verdict_of
from gateway.house import Gateway
from gateway.live.in_force import Live

Say = Callable[[str], None]

POLL_S = 0.1

READY = """ready: {url}
  curl -i {url}/v1/chat/completions -H 'content-type: application/json' \\
    -d '{{"model": "auto", "messages": [{{"role": "user", "content": "hi there"}}], "max_tokens": 40}}'"""


async def announce(gateway: Gateway, url: Callable[[], str | None], say: Say) -> None:
    """Say what is missing, each reason for not being ready once, and at the end the URL with an example.

    `url()` is None until we listen. Ends without a word when the process is told to stop first.
    """
    told: set[str] = set()
    while not gateway.door.is_draining:
        at, why_not = url(), verdict_of(gateway).why_not
        waits = (f"waiting: {why_not}",) if at and why_not else ()
        for line in (*warnings_of(gateway.live), *unavailable_units(gateway), *forgetful(gateway), *waits):
            if line not in told:
                say(line)
                told.add(line)
        if at and not why_not:
            return say(READY.format(url=at))
        await asyncio.sleep(POLL_S)


def unavailable_units(gateway: Gateway) -> Iterator[str]:
    """Experiments that nobody can take part in."""
    if gateway.settings.keys_file is not None:
        return
    for experiment in gateway.live.policy.experiments:
        if experiment.unit == "api_key":
            yield f"warning: experiment {experiment.name} goes by api_key, and no keys are configured: nobody need send one"


def forgetful(gateway: Gateway) -> Iterator[str]:
    """Rollouts that begin anew with the process, also after they were taken back."""
    settings = gateway.settings
    if settings.experiments_dir is not None or settings.state is not None:
        return
    for rollout in gateway.live.policy.experiments:
        if rollout.steps:
            yield (
                f"warning: rollout {rollout.name} begins again at its first step when this process starts again: set "
                "TURNOUT_EXPERIMENTS__DIR to a folder, and it is remembered how it stands"
            )


def warnings_of(live: Live) -> Iterator[str]:
    """What keeps a model out for as long as nobody mends it."""
    for replica in live:
        if replica.lacks:
            yield f"warning: model {replica.model}: {replica.lacks}"
        elif replica.failed:
            yield f"warning: model {replica.model} did not open: {replica.load().why_not}"
