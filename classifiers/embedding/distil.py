"""`python -m classifiers.embedding.distil`: makes the static table from the encoder. Once per encoder, not per artefact.

Each word piece goes through the encoder alone; the main directions of what comes out are kept; frequent pieces weigh less,
by their rank in the vocabulary (Zipf). After model2vec (van Dongen and Tulkens 2024).
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from classifiers.embedding.encoder import DEFAULT_NAME, find_encoder
from classifiers.embedding.static import TABLE, save

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

WIDTH = 64
_BATCH = 512
_CARD = {
    "made_from": f"sentence-transformers/{DEFAULT_NAME}, Apache-2.0",
    "is": "each word piece through the encoder, its main directions, weighted by log(1 + rank); 8-bit rows",
}


def distil(source: str, out: Path, *, width: int = WIDTH, threads: int = 1) -> int:
    """Writes the table; returns how many pieces it has. About a minute."""
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(threads)
    model = SentenceTransformer(source, device="cpu", local_files_only=Path(source).is_dir())
    pieces = known_pieces(model.tokenizer.get_vocab())
    ranks = np.array(list(pieces.values()))
    rows = main_directions(_alone(model, list(pieces.values())), width) * np.log1p(ranks)[:, None]
    save(out, list(pieces), rows.astype(np.float32), _CARD)
    return len(pieces)


def known_pieces(vocabulary: dict[str, int]) -> dict[str, int]:
    """Pieces that English text can hold, by number: no markers such as [CLS], no other script."""
    ordered = sorted(vocabulary.items(), key=lambda pair: pair[1])
    return {piece: at for piece, at in ordered if piece.isascii() and not (piece.startswith("[") and len(piece) > 1)}


def main_directions(rows: NDArray[np.float32], width: int) -> NDArray[np.float32]:
    """Centred rows in the directions along which they vary most, [n, width]."""
    centred = rows - rows.mean(0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    return np.asarray(centred @ directions[:, ::-1][:, :width], np.float32)


def _alone(model: "SentenceTransformer", numbers: Sequence[int]) -> NDArray[np.float32]:
    """The pooled vector of each piece between the encoder's own markers, [n, width of the encoder]."""
    import torch

    encoder = getattr(model[0], "auto_model")  # noqa: B009  the library types it as any module
    first, last = model.tokenizer.cls_token_id, model.tokenizer.sep_token_id
    found = []
    with torch.inference_mode():
        for start in range(0, len(numbers), _BATCH):
            ids = torch.tensor([[first, number, last] for number in numbers[start : start + _BATCH]])
            hidden = encoder(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state
            found.append(hidden.mean(1).numpy())
    return np.concatenate(found)


def main() -> None:
    parser = argparse.ArgumentParser(description="make the static embedder's table from the encoder")
    parser.add_argument("--embedder", help="directory or hub name (default: all-MiniLM-L6-v2)")
    parser.add_argument("--out", type=Path, default=TABLE)
    asked = parser.parse_args()
    print(f"{distil(find_encoder(asked.embedder), asked.out)} pieces written to {asked.out}")


if __name__ == "__main__":
    main()
