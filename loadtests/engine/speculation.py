"""N-gram drafts against none, one round, printed as one line of JSON: by task one at a time, and free chat in crowded batches.

    python -m loadtests.engine.speculation MODEL --precision int8 [--max-draft N]

One model, two batches that take turns. `speedup` is of the time after the first token, `whole_speedup` has the prompt in it;
outputs are compared token by token.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from backends.engine.batch import Batch
from backends.engine.weights.opening import OpenedWeights, open_weights
from backends.messages import Message
from loadtests.engine.running import Answers, answers, batch_of, build_model
from loadtests.engine.tasks import CROWD, TASKS
from policies.catalogue import Run

NEW = 160
REPEATS = 2
BLOCKS = 512
CROWDS = (1, 2, 4, 8, 16)


def encoded(weights: OpenedWeights, text: str) -> list[int]:
    return weights.tokenizer.encode_chat([Message(role="user", text=text)])


class Pair:
    """The same model without drafts and with them; each measurement takes both, twice, in turns."""

    def __init__(self, plain: Batch, drafting: Batch) -> None:
        self.batches = (plain, drafting)
        self.is_identical = True

    def compare(self, prompts: Sequence[list[int]]) -> tuple[list[Answers], list[Answers]]:
        plain, drafted = [], []
        for repeat in range(REPEATS):
            order = (0, 1) if repeat % 2 == 0 else (1, 0)
            pair = {which: answers(self.batches[which], prompts, NEW) for which in order}
            plain.append(pair[0])
            drafted.append(pair[1])
        self.is_identical &= all(a.tokens == b.tokens for a, b in zip(plain, drafted, strict=True))
        return plain, drafted


def by_task(pair: Pair, prompts: Sequence[list[int]]) -> dict[str, float]:
    """One prompt after the other."""
    found = [pair.compare([prompt]) for prompt in prompts]
    plain = [run for runs, _ in found for run in runs]
    drafted = [run for _, runs in found for run in runs]
    generated = sum(len(run.tokens[0]) for run in drafted)
    return {
        "speedup": sum(run.decode_s for run in plain) / sum(run.decode_s for run in drafted),
        "whole_speedup": sum(run.whole_s for run in plain) / sum(run.whole_s for run in drafted),
        "plain_tps": generated / sum(run.decode_s for run in plain),
        "tokens_per_step": generated / sum(run.steps for run in drafted),
    }


def in_crowd(pair: Pair, prompts: Sequence[list[int]]) -> float:
    plain, drafted = pair.compare(prompts)
    return sum(run.whole_s for run in plain) / sum(run.whole_s for run in drafted)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--precision", choices=("float32", "bfloat16", "int8", "int4"), default="int8")
    parser.add_argument("--path", choices=("native", "torch"), default="native")
    parser.add_argument("--max-draft", type=int, default=Run(weights="").max_draft)
    args = parser.parse_args()
    weights = open_weights(args.model)
    model = build_model(weights, args.path, args.precision, BLOCKS)
    pair = Pair(batch_of(model, weights.tokenizer), batch_of(model, weights.tokenizer, args.max_draft))
    pair.compare([encoded(weights, CROWD[0])])
    result: dict[str, object] = {
        task: by_task(pair, [encoded(weights, text) for text in texts]) for task, texts in TASKS.items()
    }
    crowd = [encoded(weights, text) for text in CROWD]
    result["batches"] = {str(size): in_crowd(pair, crowd[:size]) for size in CROWDS}
    print(json.dumps({**result, "greedy_identical": pair.is_identical}))


if __name__ == "__main__":
    main()
