"""What the measures return: a number with its spread, and a curve over neighbourhood sizes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from prismap._util.evidence import error_of_mean
from prismap._util.repr import Brief


class Estimate(float):
    """A float that also knows its `spread`, the standard error over the rows it was averaged over.

    Attributes
    ----------
    spread : float, NaN where it is not known

    Examples
    --------
    >>> error = Estimate(0.25, spread=0.05)
    >>> error < 0.3, error.spread, str(error)
    (True, 0.05, '0.250 +- 0.050')
    """

    spread: float

    def __new__(cls, value: float, spread: float = float("nan")) -> Estimate:
        self = super().__new__(cls, value)
        self.spread = float(spread)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Estimate, (float(self), self.spread)

    def __repr__(self) -> str:
        return f"Estimate({float(self)!r}, spread={self.spread!r})"

    def __str__(self) -> str:
        return f"{float(self):.3f}" + (f" +- {self.spread:.3f}" if np.isfinite(self.spread) else "")

    @classmethod
    def over_rows(cls, values: Any, units: Any = None) -> Estimate:
        """The mean of one value per row, with its standard error; `units` if rows are not independent."""
        values = np.asarray(values, dtype=np.float64)
        return cls(values.mean(), error_of_mean(values, units))

    def to_dict(self) -> dict[str, float | None]:
        """Plain numbers for JSON (None where there is no number)."""
        return {"value": _number(self), "spread": _number(self.spread)}

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Estimate:
        """The inverse of `to_dict`."""
        return cls(*(float("nan") if stored[name] is None else stored[name] for name in ("value", "spread")))


@dataclass(frozen=True, eq=False, repr=False)
class RankCurve(Brief):
    """Neighbourhood preservation over the neighbourhood size k, with the two numbers that sum it up.

    Attributes
    ----------
    kind : {"q_nx", "r_nx"}
    k, value, spread : arrays of one length; `spread` is the standard error over the rows judged
    n_rows : rows of the data, all of which can be neighbours
    n_samples : rows whose neighbourhoods were judged; below `n_rows` the curve is an estimate
    auc_log_k : area under R_NX with k on a logarithmic scale
    q_local : mean of Q_NX up to `k_max`, where Q_NX exceeds its chance level most
    """

    kind: str
    k: np.ndarray
    value: np.ndarray
    spread: np.ndarray
    n_rows: int
    n_samples: int
    auc_log_k: Estimate
    q_local: Estimate
    k_max: int

    def __len__(self) -> int:
        return len(self.k)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.value, dtype=dtype, copy=copy)

    def __str__(self) -> str:
        how = "all rows" if self.n_samples == self.n_rows else f"{self.n_samples} sampled rows"
        return f"{self.kind} of {self.n_rows} rows ({how}): area {self.auc_log_k}, local {self.q_local}"

    def thin(self, n_points: int = 200) -> RankCurve:
        """The same curve at about `n_points` sizes, evenly spaced on the logarithmic scale; k must ascend."""
        if len(self.k) <= n_points:
            return self
        wanted = np.geomspace(self.k[0], self.k[-1], num=n_points)
        kept = np.unique(np.searchsorted(self.k, np.round(wanted)))
        return replace(self, k=self.k[kept], value=self.value[kept], spread=self.spread[kept])

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers for JSON."""
        return {
            "kind": self.kind,
            "k": [int(k) for k in self.k],
            "value": [_number(value) for value in self.value],
            "spread": [_number(value) for value in self.spread],
            "n_rows": int(self.n_rows),
            "n_samples": int(self.n_samples),
            "auc_log_k": self.auc_log_k.to_dict(),
            "q_local": self.q_local.to_dict(),
            "k_max": int(self.k_max),
        }

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> RankCurve:
        """The inverse of `to_dict`."""
        arrays = {name: np.array(stored[name], dtype=np.float64) for name in ("value", "spread")}
        scalars = {name: Estimate.from_dict(stored[name]) for name in ("auc_log_k", "q_local")}
        return cls(**{**stored, **arrays, **scalars, "k": np.array(stored["k"], dtype=np.intp)})


def _number(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None
