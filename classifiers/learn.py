"""From rows to a calibrated blend; the same steps, with the same constants, for what is shipped and what is measured."""

import numpy as np

from classifiers.heads.blend import Blend, fit_calibrators, fit_members
from classifiers.heads.inputs import Inputs, Targets

_EVERY = 6


def learn(inputs: Inputs, targets: Targets) -> Blend:
    """Trains on five sixths, calibrates on the sixth that was kept back, then trains again on everything.

    The calibrators stay as they are: a head that saw a fifth more rows is hardly less sure of itself, and no row is
    wasted. The order of rows decides who is kept back, so callers hand them over in an order without meaning.
    """
    import sklearn.ensemble  # noqa: F401  the limit below holds for libraries that are loaded when it is set
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    rows = np.arange(len(inputs))
    fit, kept = rows[rows % _EVERY != 0], rows[rows % _EVERY == 0]
    # One thread: a fit takes seconds, and where other work shares the cores, threads that spin for one another take minutes.
    with threadpool_limits(1):
        members = fit_members(inputs.take(fit), targets.take(fit))
        calibrators = fit_calibrators(members, inputs.take(kept), targets.take(kept))
        return Blend(fit_members(inputs, targets), calibrators)
