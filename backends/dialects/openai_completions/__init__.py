"""OpenAI's older Completions: how a bare text goes on, without turns and without a chat template."""
