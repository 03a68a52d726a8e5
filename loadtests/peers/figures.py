"""What a peer's round prints: one line of JSON. Imported as a sibling: peers run by path, in environments of their own."""

import json
import resource
from collections.abc import Mapping


def print_figures(load_s: float, first_s: float, prompt_tokens: int, decode_tps: Mapping[int, float]) -> None:
    """`first_s` are the seconds to the first token of a prompt of `prompt_tokens`; `decode_tps` by batch size."""
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    figures = {
        "load_s": load_s,
        "ttft_ms": first_s * 1000,
        "prefill_tps": prompt_tokens / first_s,
        "decode_tps": dict(decode_tps),
        "memory_mb": {"peak": peak_mb},
    }
    print(json.dumps(figures))
