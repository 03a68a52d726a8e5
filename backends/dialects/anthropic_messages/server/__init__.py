"""Servers that speak Anthropic's Messages: `ask` writes what they are asked, `relay`, `chunks` and `whole` read answers."""
