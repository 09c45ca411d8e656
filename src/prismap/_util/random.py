"""Seeds: one way from `random_state` to independent generators and whole-number seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state


def as_generator(random_state: Any) -> np.random.Generator:
    """A numpy Generator from None, an int, a RandomState (drawn from once) or a Generator (used as it is)."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(as_seed(random_state))


def as_seed(random_state: Any) -> int:
    """A whole-number seed below 2**31, for libraries that take no generator. An int stays itself."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        return int(random_state) % (2**31)
    return int(check_random_state(random_state).randint(2**31 - 1))
