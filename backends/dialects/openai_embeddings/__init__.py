"""OpenAI's Embeddings: a vector for every text."""
