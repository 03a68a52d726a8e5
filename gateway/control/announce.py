"""What a person at a terminal hears while a gateway starts: what it waits for, then a line that works."""

import asyncio
from collections.abc import Callable

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

    `url()` is None until we listen.
    """
    for warning in warnings_of(gateway.live):
        say(warning)
    told = ""
    while (at := url()) is None or (why_not := verdict_of(gateway).why_not):
        if at is not None and why_not != told:
            say(f"waiting: {why_not}")
            told = why_not
        await asyncio.sleep(POLL_S)
    say(READY.format(url=at))


def warnings_of(live: Live) -> list[str]:
    """What the configuration owes the models, one line for each lack of each model."""
    lacks = [f"warning: model {replica.model}: {replica.lacks}" for replica in live if replica.lacks]
    return list(dict.fromkeys(lacks))
