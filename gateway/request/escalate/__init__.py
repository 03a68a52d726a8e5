"""The answer of a smaller model, held back until it is judged; who is asked beside it, and who takes over."""
