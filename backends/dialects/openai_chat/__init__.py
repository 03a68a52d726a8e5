"""OpenAI's Chat Completions: `request` reads, `response` and `stream` write, `forward` and `relay` pass through."""
