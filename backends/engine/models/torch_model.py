"""The engine's model in plain torch operations: the oracle, the fallback without a compiler, and the CUDA path."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from backends.engine.api import Step
from backends.engine.kernels.cpu import usable_cores
from backends.engine.layers.agreement import cut
from backends.engine.layers.arena import Arena
from backends.engine.layers.decoder import Layer
from backends.engine.layers.exact import Exact8, head
from backends.engine.layers.graphs import Capture, Graphs
from backends.engine.layers.linear import Hold, Int8, Precision, Table
from backends.engine.layers.norm import RmsNorm
from backends.engine.layers.pool import Pool, sent
from backends.engine.layers.replay import Replay
from backends.engine.layers.rotary import rotary_table
from backends.engine.layers.stack import Passing, Stack
from backends.engine.models.kept import KeptSizes
from backends.engine.models.measured import Measuring, few
from backends.engine.models.memory import memory_errors
from backends.engine.models.plan import Pass, Planner, Sizes
from backends.engine.spec import ModelSpec, TensorSource
from backends.engine.weights.held import as_held
from policies.catalogue import KvPrecision


class TorchModel:
    """Implements `LanguageModel`. One thread at a time.

    Row independence rests on three facts: products run in row counts that were measured to agree bit for bit on this
    machine, attention reduces each row alone in the order of positions, and all else is one operation per element.
    """

    def __init__(
        self,
        spec: ModelSpec,
        source: TensorSource,
        precision: Precision = "float32",
        blocks: int = 512,
        *,
        kv_precision: KvPrecision = "native",
        device: str = "cpu",
        threads: int | None = None,
        capture: Capture | None = None,
        sizes: Sizes | KeptSizes | None = None,
    ) -> None:
        """`blocks` of 16 tokens make the KV pool, float32 with `kv_precision` "native".

        `threads` is torch's own, for the whole process; None leaves it alone. `capture` makes graphs of decoding passes.
        `sizes` that are known to agree need no measuring, and those that are kept little.
        """
        if threads is not None:
            torch.set_num_threads(threads)
        self.spec, self.vocab_size, self.blocks = spec, spec.vocab_size, blocks
        self.context = spec.context
        place = torch.device(device)
        with torch.inference_mode():
            self._load(as_held(source, precision), precision, place)
            self._pool = Pool(spec, blocks, place)
            self._turns = _turns(spec, min(spec.context, blocks * 16), place)
            sizes = sizes if isinstance(sizes, Sizes) else self._agreeing(precision, sizes)
        calls_cost = place.type != "cpu" or capture is not None
        sizes = few(sizes) if calls_cost else sizes
        self._head_sizes = sizes.head
        self._planner = Planner(
            self._pool, sizes, spec.heads, spec.kv_heads, spec.sliding_window, calls_cost=calls_cost
        )
        stack = Stack(self._layers, kv_precision)
        self._stack: Passing = Graphs(stack, capture) if capture else stack if calls_cost else Replay(stack)
        for sequences in (1, 2):
            self.compute(_first_tokens(sequences))

    def forward(self, step: Step) -> NDArray[np.float32]:
        """Logits (m, vocab_size) of the wanted rows. Raises MemoryError."""
        with memory_errors():
            return np.asarray(self.compute(step).cpu().numpy())

    def compute(self, step: Step) -> Tensor:
        """`forward`, still on the device, float32."""
        with torch.inference_mode():
            hidden = torch.cat([self._through(part) for part in self._planner.passes(step)])
            wanted = hidden.index_select(0, sent(step.logit_rows.astype(np.int64), hidden.device))
            parts = [self._logits(_rows(wanted, start, size))[: end - start]
                     for start, end, size in cut(len(wanted), self._head_sizes)]  # fmt: skip
            logits = torch.cat(parts) if parts else wanted.new_empty(0, self.vocab_size)
            return logits.float()

    def _load(self, source: TensorSource, precision: Precision, place: torch.device) -> None:
        """By as many threads as there are cores; the vocabulary, which takes the longest, first."""
        spec = self.spec
        hold = Arena().hold

        @torch.inference_mode()
        def layer(index: int) -> Layer:
            return Layer(spec, source, index, precision, place, hold=hold)

        with ThreadPoolExecutor(usable_cores()) as packers:
            outer = packers.submit(self._load_outer, source, precision, place, hold)
            self._layers = list(packers.map(layer, range(spec.layers)))
            outer.result()

    @torch.inference_mode()
    def _load_outer(self, source: TensorSource, precision: Precision, place: torch.device, hold: Hold) -> None:
        tied = self.spec.tied_head
        self._norm = RmsNorm(torch.from_numpy(source.tensor("norm")).to(place), self.spec.rms_eps)
        embed = torch.from_numpy(source.tensor("embed")).to(place)
        vocabulary = embed if tied else torch.from_numpy(source.tensor("head")).to(place)
        self._head = head(vocabulary, precision, hold)
        shared = self._head if isinstance(self._head, Int8) and tied else None
        self._embed = shared or Table(embed if precision == "float32" else embed.bfloat16())

    def _agreeing(self, precision: Precision, kept: KeptSizes | None) -> Sizes:
        is_exact = isinstance(self._head, Exact8)
        measuring = Measuring(self.spec, self._layers[0], self._logits, self._turns[-1:], is_exact=is_exact)
        return kept.of(self.spec, precision, measuring) if kept else measuring.sizes()

    def _logits(self, hidden: Tensor) -> Tensor:
        return self._head(self._norm(hidden))

    def _through(self, part: Pass) -> Tensor:
        """The rows of one pass through all layers: (rows, hidden)."""
        if part.begun is not None:
            self._pool.clear(part.begun)
        hidden, turns = self._embed.rows(part.tokens), self._turns.index_select(0, part.positions)
        return self._stack(hidden, turns, part.paging)[: part.end - part.start]


def _first_tokens(sequences: int) -> Step:
    """One row for each sequence, so that decoding is recorded before anybody waits for it. A first slot clears its block."""
    zeros = np.zeros(sequences, np.int32)
    return Step(zeros, zeros, np.arange(sequences, dtype=np.int32), zeros[:, None], zeros)


def _rows(rows: Tensor, start: int, size: int) -> Tensor:
    """`size` rows from `start`, zeros where there are none."""
    part = rows[start : start + size]
    return part if len(part) == size else F.pad(part, (0, 0, 0, size - len(part)))


def _turns(spec: ModelSpec, positions: int, place: torch.device) -> Tensor:
    """(positions, 1, head_dim / 2) complex: what each position turns a rotary pair by."""
    cosines, sines = rotary_table(spec, positions)
    return torch.complex(torch.from_numpy(cosines), torch.from_numpy(sines)).to(place)[:, None, :]
