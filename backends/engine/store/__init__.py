"""Model weights on this machine: pulled once, verified, kept in one cache directory.

A name is a built-in one (a file inside a Python package), a hub name (`org/model`), or one's own path.
"""

from backends.engine.store.cache import Entry, WeightsMissing, listing, resolve
from backends.engine.store.pull import Pulled, PullFailed, pull

__all__ = ["Entry", "PullFailed", "Pulled", "WeightsMissing", "listing", "pull", "resolve"]
