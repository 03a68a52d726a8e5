"""`python tests/traces/write_golden.py` writes the golden traces anew: read the diff before you keep it."""

import asyncio
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1]))

from traces.scenarios import SCENARIOS
from traces.span_text import text_of
from traces.test_golden_traces import GOLDEN, in_process, played


async def write() -> None:
    for name, scenario in SCENARIOS.items():
        with TemporaryDirectory() as folder:
            trace, world = await played(scenario, Path(folder))
        (GOLDEN / f"{name}.txt").write_text(text_of(trace, world.places), encoding="utf-8")
    with TemporaryDirectory() as folder:
        (GOLDEN / "in_process.txt").write_text(text_of(await in_process(Path(folder)), {}), encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(write())
