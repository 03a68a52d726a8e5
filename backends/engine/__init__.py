"""Our own inference server: continuous batching over a paged, shared KV cache. Knows no tenant and no route."""
