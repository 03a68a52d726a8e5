"""What a process that was forked must not share with the one that it was forked from."""

import os
import weakref
from collections.abc import Callable


def in_child(method: Callable[[], object]) -> None:
    """Call this method of an object, for as long as that lives, in every process that is forked from this one."""
    known = weakref.WeakMethod(method)

    def call() -> None:
        found = known()
        if found is not None:
            found()

    os.register_at_fork(after_in_child=call)
