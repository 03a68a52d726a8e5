"""Replicas behind HTTP: any server that speaks OpenAI's Chat Completions."""

from backends.remote.asking import Key
from backends.remote.upstream import RemoteUpstream

__all__ = ["Key", "RemoteUpstream"]
