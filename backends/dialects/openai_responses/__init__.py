"""OpenAI's Responses, as clients speak it. Models are asked in neutral words and, behind HTTP, in Chat Completions."""
