"""What a vLLM server tells of its cache, and how a gateway without its tokenizer makes use of that."""
