"""From a text to a vector: the encoder, the process it runs in, and the static table."""
