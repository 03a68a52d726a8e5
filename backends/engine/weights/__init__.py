"""Weights on disk → a spec, tensors by canonical name, a tokenizer, a revision. Knows nothing of how a model computes."""
