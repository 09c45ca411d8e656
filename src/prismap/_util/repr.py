"""How a value that holds arrays is printed: by their shapes, since a notebook shows what a cell ends with."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

#: A collection of more entries, or of arrays, is printed by its length.
MOST_ENTRIES = 6


def brief(value: Any) -> str:
    """A value in a few words.

    >>> brief(np.zeros((150, 2))), brief("class"), brief({"a": np.zeros(3)}), brief(range(100))
    ('array (150, 2)', "'class'", 'dict of 1', 'range of 100')
    """
    if hasattr(value, "shape"):
        kind = "array" if isinstance(value, np.ndarray) else type(value).__name__
        return f"{kind} {tuple(value.shape)}"
    if isinstance(value, dict | list | tuple | range):
        parts = list(value.values()) if isinstance(value, dict) else value
        if len(parts) > MOST_ENTRIES or any(hasattr(part, "shape") for part in parts):
            return f"{type(value).__name__} of {len(parts)}"
    return repr(value)


class Brief:
    """A dataclass (with ``repr=False``) that is printed in one line, without what it does not have."""

    def __repr__(self) -> str:
        shown = {one.name: getattr(self, one.name) for one in fields(self) if one.repr}  # type: ignore[arg-type]
        shown = {name: value for name, value in shown.items() if value is not None}
        return f"{type(self).__name__}({', '.join(f'{name}={brief(value)}' for name, value in shown.items())})"
