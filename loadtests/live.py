"""A running gateway under open-loop arrivals: TTFT, ITL, goodput, and who answered.

    python -m loadtests.live --url http://127.0.0.1:8080 [--rate 2] [--count 64] [--all-at-once] [--json] [--ledger]

Goodput counts the requests that met both objectives (--ttft-ms and --itl-ms, the latter for a request's mean gap).
"""

import argparse
import asyncio
import json
import time
from collections import Counter
from statistics import fmean

from loadtests.ledger import add_row
from loadtests.openloop import Plan, Shot, fire, quantile

QUESTION = "Explain in a few sentences how a railway turnout sets a train on its track."
AT_ONCE_RATE = 1e6


def figures(shots: list[Shot], elapsed_s: float, ttft_ms: float, itl_ms: float) -> dict[str, object]:
    """Quantiles in milliseconds, tokens and requests per second, and the share that met the objectives."""
    good = [shot for shot in shots if not shot.error]
    gaps = [gap for shot in good for gap in shot.gaps]
    met = [s for s in good if s.ttft_s * 1000 <= ttft_ms and (not s.gaps or fmean(s.gaps) * 1000 <= itl_ms)]
    return {
        "requests": len(shots),
        "answered": len(good),
        "errors": dict(Counter(shot.error for shot in shots if shot.error)),
        "models": dict(Counter(shot.headers.get("x-turnout-model", "") for shot in good)),
        "ttft_ms": {f"p{q}": quantile([s.ttft_s for s in good], q / 100) * 1000 for q in (50, 90, 99)},
        "itl_ms": {f"p{q}": quantile(gaps, q / 100) * 1000 for q in (50, 90, 99)},
        "events_per_s": (len(gaps) + len(good)) / elapsed_s,
        "goodput_per_s": len(met) / elapsed_s,
        "goodput_share": len(met) / max(1, len(shots)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="http://127.0.0.1:8080")
    parser.add_argument("--model", default="auto")
    parser.add_argument("--rate", type=float, default=2.0, help="requests per second")
    parser.add_argument("--count", type=int, default=64)
    parser.add_argument("--all-at-once", action="store_true", help="send everything in the first instant")
    parser.add_argument("--max-tokens", type=int, default=64)
    parser.add_argument("--ttft-ms", type=float, default=1000.0)
    parser.add_argument("--itl-ms", type=float, default=100.0)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--ledger", action="store_true")
    args = parser.parse_args()
    body: dict[str, object] = {"model": args.model, "stream": True, "max_tokens": args.max_tokens}
    body["messages"] = [{"role": "user", "content": QUESTION}]
    rate = AT_ONCE_RATE if args.all_at_once else args.rate
    start = time.perf_counter()
    shots = asyncio.run(fire(Plan(args.url + "/v1/chat/completions", body, rate, args.count)))
    result = figures(shots, time.perf_counter() - start, args.ttft_ms, args.itl_ms)
    print(json.dumps(result, indent=None if args.json else 2))
    if args.ledger:
        arrivals = "all at once" if args.all_at_once else f"{args.rate:g}/s Poisson"
        add_row("live gateway", f"{args.count} streams of {args.max_tokens} tokens, {arrivals}", json.dumps(result))


if __name__ == "__main__":
    main()
