"""The engine's speed, memory and steadiness, beside the engines of others, in one run: `python -m loadtests.engine`."""
