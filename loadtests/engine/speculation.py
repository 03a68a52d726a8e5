"""N-gram drafts against none, one round, printed as one line of JSON: by task one at a time, and free chat in crowded batches.

    python -m loadtests.engine.speculation MODEL --precision int8 [--max-draft N] [--processor-time]

One model, two batches that take turns step by step. `speedup` is of the time after the first token, `whole_speedup` has the
prompt in it; outputs are compared token by token. Crowds are timed until the last has ended. By processor time, with kernels on
one thread, other processes take next to nothing from the figures, so a busy machine tells the same as a quiet one.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from backends.engine.batch import Batch
from backends.engine.weights.opening import OpenedWeights, open_weights
from backends.messages import Message
from loadtests.engine.running import batch_of, build_model
from loadtests.engine.tasks import CROWD, TASKS
from loadtests.engine.turns import Answers, Part, in_turns
from policies.catalogue import Run

NEW = 160
REPEATS = 3
"""Of a crowd; the median counts."""
BLOCKS = 512
"""Of each side: 16 chats of 300 tokens."""
CROWDS = (1, 2, 4, 8, 16)


def encoded(weights: OpenedWeights, text: str) -> list[int]:
    return weights.tokenizer.encode_chat([Message(role="user", text=text)])


class Pair:
    """The same model without drafts and with them, in two halves of its KV pool; both take turns step by step."""

    def __init__(self, plain: Batch, drafting: Batch, clock: Callable[[], float]) -> None:
        self.batches = (plain, drafting)
        self._clock = clock
        self.is_identical = True

    def compare(self, prompts: Sequence[list[int]]) -> tuple[Answers, Answers]:
        plain, drafted = in_turns(self.batches, prompts, NEW, self._clock)
        self.is_identical &= plain.tokens == drafted.tokens
        return plain, drafted


def by_task(pair: Pair, prompts: Sequence[list[int]]) -> dict[str, float]:
    """One prompt after the other."""
    plain, drafted = zip(*(pair.compare([prompt]) for prompt in prompts), strict=True)
    generated = sum(len(run.tokens[0]) for run in drafted)
    return {
        "speedup": sum(run.decode_s for run in plain) / sum(run.decode_s for run in drafted),
        "whole_speedup": sum(run.whole_s for run in plain) / sum(run.whole_s for run in drafted),
        "plain_tps": generated / sum(run.decode_s for run in plain),
        "tokens_per_step": generated / sum(run.steps for run in drafted),
    }


def in_crowd(pair: Pair, prompts: Sequence[list[int]]) -> float:
    """All at once, until the last has ended."""
    runs = [pair.compare(prompts) for _ in range(REPEATS)]
    return median(plain.whole_s / drafted.whole_s for plain, drafted in runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--precision", choices=("float32", "bfloat16", "int8", "int4"), default="int8")
    parser.add_argument("--path", choices=("native", "torch"), default="native")
    parser.add_argument("--max-draft", type=int, default=Run(weights="").max_draft)
    parser.add_argument("--processor-time", action="store_true")
    args = parser.parse_args()
    clock = time.thread_time if args.processor_time else time.perf_counter
    weights = open_weights(args.model)
    model = build_model(weights, args.path, args.precision, 2 * BLOCKS, threads=1 if args.processor_time else None)
    plain, drafting = Part(model, 0, BLOCKS), Part(model, BLOCKS, BLOCKS)
    tokenizer = weights.tokenizer
    pair = Pair(batch_of(plain, tokenizer), batch_of(drafting, tokenizer, args.max_draft, clock), clock)
    pair.compare([encoded(weights, CROWD[0])])
    result: dict[str, object] = {
        task: by_task(pair, [encoded(weights, text) for text in texts]) for task, texts in TASKS.items()
    }
    crowd = [encoded(weights, text) for text in CROWD]
    result["batches"] = {str(size): in_crowd(pair, crowd[:size]) for size in CROWDS}
    print(json.dumps({**result, "greedy_identical": pair.is_identical}))


if __name__ == "__main__":
    main()
