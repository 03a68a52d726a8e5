"""Keeps some streams open at a chat server until it is stopped: a process of its own, so that reading them delays nobody.

python -m loadtests.engine.full_load URL --model small --streams 8
"""

import argparse
import asyncio

import aiohttp

QUESTION = "Tell a long story about a railway turnout, in many chapters."


async def stream(session: aiohttp.ClientSession, url: str, model: str, number: int) -> None:
    """One answer after the other, for ever. Faults of single answers are waited out; the probe would see a dead server."""
    body = {"model": model, "stream": True, "max_tokens": 512, "temperature": 1.0}
    body["messages"] = [{"role": "user", "content": f"{QUESTION} Storyteller {number} begins."}]
    while True:
        try:
            async with session.post(url + "/v1/chat/completions", json=body) as answer:
                async for _ in answer.content.iter_any():
                    pass
        except aiohttp.ClientError:
            await asyncio.sleep(0.1)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("--model", required=True)
    parser.add_argument("--streams", type=int, default=8)
    args = parser.parse_args()
    session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=aiohttp.ClientTimeout(total=None))
    async with session, asyncio.TaskGroup() as group:
        for number in range(args.streams):
            group.create_task(stream(session, args.url, args.model, number), name=f"stream {number}")


if __name__ == "__main__":
    asyncio.run(main())
