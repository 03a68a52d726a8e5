"""A signal while weights load: the process ends at once and well, whatever the loading thread waits for."""

import asyncio
import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from gateway.live.unawaited import in_daemon

SERVE = """
import sys
import threading
from pathlib import Path
def wait_for_ever(event, args):
    if event == 'open' and str(args[0]) == sys.argv[2]:
        print('reads', file=sys.stderr, flush=True)
        threading.Event().wait()
sys.addaudithook(wait_for_ever)
from gateway.serve import serve
from gateway.settings import Settings
serve(Settings(policy=Path(sys.argv[1]), port=0), lambda line: print(line, file=sys.stderr))
"""


def test_a_loop_ends_while_work_that_was_given_up_goes_on() -> None:
    go_on, over = threading.Event(), threading.Event()

    def work() -> None:
        go_on.wait(20)
        over.set()

    async def give_up() -> None:
        async with asyncio.timeout(0.01):
            await in_daemon(work, "work")

    with pytest.raises(TimeoutError):
        asyncio.run(give_up())
    assert not over.is_set()

    go_on.set()
    assert over.wait(20)


async def test_what_the_work_made_or_raised_is_handed_over() -> None:
    assert await in_daemon(lambda: 7, "work") == 7
    with pytest.raises(ZeroDivisionError):
        await in_daemon(lambda: 1 // 0, "work")


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    path = tmp_path / "weights"
    path.mkdir()
    (path / "model.safetensors").touch()
    (path / "config.json").write_text("{}")
    return path


async def reads(process: asyncio.subprocess.Process) -> None:
    """Returns when the process has begun to read the weights' configuration, which never ends."""
    assert process.stderr is not None
    while (line := await process.stderr.readline()) != b"reads\n":
        assert line, "the process ended"


@pytest.mark.skipif(os.name != "posix", reason="POSIX signals")
@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_while_weights_load_ends_the_process_at_once(
    sent: signal.Signals, weights: Path, tmp_path: Path
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(f"policy: 1\nmodels: {{m: {{run: {{weights: '{weights}'}}}}}}\nroutes: [{{use: m}}]\n")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SERVE, str(policy), str(weights / "config.json"), stderr=asyncio.subprocess.PIPE
    )
    try:
        await asyncio.wait_for(reads(process), 60)
        began = asyncio.get_running_loop().time()
        process.send_signal(sent)
        _, told = await asyncio.wait_for(process.communicate(), 30)
        took_s = asyncio.get_running_loop().time() - began
    finally:
        if process.returncode is None:
            process.kill()

    assert process.returncode == 0, told.decode()
    assert b"Traceback" not in told, told.decode()
    assert took_s < 5, told.decode()
