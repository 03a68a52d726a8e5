"""Implementations of the LanguageModel border: torch everywhere, native where the CPU kernels build."""
