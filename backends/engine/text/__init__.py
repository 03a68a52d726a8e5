"""Between text and token ids: vocabularies, chat templates, incremental decoding. Knows no tensors."""
