"""Replicas behind HTTP: any server that speaks OpenAI's Chat Completions."""

from backends.remote.upstream import Key, RemoteUpstream

__all__ = ["Key", "RemoteUpstream"]
