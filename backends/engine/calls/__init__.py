"""From what a model writes to the tool calls that it means."""
