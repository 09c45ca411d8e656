"""From whatever holds a linear map (weights, a fitted model, a pipeline) to rows and weights on the same scale.

And to the weights of regularised regressions that predict what it does, as their penalty falls.
"""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import enet_path
from sklearn.pipeline import Pipeline

from prismap._util.arrays import Numbers
from prismap.exceptions import InputError

#: Where fitted models keep their linear map, in the order of asking.
ATTRIBUTES = ("omega_", "coef_", "components_")


@dataclass(frozen=True)
class LinearMap:
    """``rows @ weights.T`` is what the map does; `model` holds it under the name `attribute` (None for bare weights).

    `steps` were applied to the rows first. `mixed` says that `weights` were pulled back through later steps that mix
    columns, so that the model cannot take others.
    """

    rows: np.ndarray
    weights: np.ndarray
    model: Any = None
    attribute: str = ""
    steps: tuple[Any, ...] = ()
    mixed: bool = False

    def prepare(self, X: np.ndarray) -> np.ndarray:
        """New rows as the map sees them."""
        for step in self.steps:
            X = _apply(step, X)
        return X


def linear_map(X: np.ndarray, coef: Any) -> LinearMap:
    """The linear map in `coef`, in the columns of X, with the rows as the map sees them.

    A pipeline's leading steps that keep the columns apart (scalers) are applied to the rows; later affine steps that
    mix columns (a PCA) are pulled back, so that each weight still belongs to one column.
    """
    coef = getattr(coef, "best_estimator_", coef)
    if not isinstance(coef, Pipeline):
        weights, attribute = _weights(coef)
        return LinearMap(X, _check_weights(weights, X), coef if attribute else None, attribute)
    rows = seen = X
    jacobian = None
    leading: tuple[Any, ...] = ()
    for name, step in coef.steps[:-1]:
        if step is None or step == "passthrough":
            continue
        J, seen = _affine_step(step, seen, name)
        if jacobian is None and J.shape[0] == J.shape[1] and not (J - np.diag(np.diag(J))).any():
            rows, leading = seen, (*leading, step)
        else:
            jacobian = J if jacobian is None else jacobian @ J
    model = coef.steps[-1][1]
    weights, attribute = _weights(model)
    weights = _check_weights(weights, seen)
    if jacobian is not None:
        weights = weights @ jacobian.T
    return LinearMap(rows, weights, model, attribute, leading, mixed=jacobian is not None)


def _weights(source: Any) -> tuple[np.ndarray, str]:
    """Weights as (outputs, columns), and the attribute they came from ('' for an array)."""
    attribute = ""
    if not isinstance(source, (np.ndarray, list, tuple)) and not hasattr(source, "__array__"):
        attribute = next((name for name in ATTRIBUTES if hasattr(source, name)), "")
        if not attribute:
            raise InputError(
                f"coef must be weights, or a fitted linear model with one of {', '.join(ATTRIBUTES)}; got {source!r}. "
                "Fit the model first; a model that is not linear in its features has no such weights."
            )
        source = getattr(source, attribute)
    if hasattr(source, "toarray"):
        source = source.toarray()
    try:
        weights = np.atleast_2d(np.asarray(source, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise InputError(f"coef must hold numbers: {error}") from error
    return weights, attribute


def _check_weights(weights: np.ndarray, X: np.ndarray) -> np.ndarray:
    if weights.ndim != 2 or weights.shape[1] != X.shape[1]:
        raise InputError(
            f"coef has {weights.shape[-1]} weights and X has {X.shape[1]} columns: they must be equal in number. "
            "Pass the rows that the map takes, or the whole pipeline."
        )
    if not np.isfinite(weights).all():
        raise InputError(f"coef holds {int((~np.isfinite(weights)).sum())} missing or infinite weights.")
    return weights


def _affine_step(step: Any, X: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The matrix J of an affine transformer, ``T(x) = T(x0) + (x - x0) J``, by trying it, and the transformed rows."""
    origin = X.mean(axis=0)
    spread = X.std(axis=0)
    spread[spread == 0] = 1.0
    probes = np.vstack([origin, origin + np.diag(spread)])
    rows, tried = _apply(step, X), _apply(step, probes)
    J = (tried[1:] - tried[0]) / spread[:, None]
    J[np.abs(J) < 1e-12 * np.abs(J).max(initial=0.0)] = 0.0
    gap = np.abs(rows - (tried[0] + (X - origin) @ J)).max(initial=0.0)
    if gap > 1e-6 * max(1.0, np.abs(rows).max(initial=0.0)):
        raise InputError(
            f"the pipeline's step {name!r} ({type(step).__name__}) is not an affine map of the columns, so the weights "
            "behind it belong to no column. Pass the transformed rows and the last step instead of the pipeline."
        )
    return J, rows


def _apply(step: Any, X: np.ndarray) -> np.ndarray:
    with warnings.catch_warnings():
        # The step may have been fitted on a data frame; its columns were checked when X came in.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return np.asarray(step.transform(X), dtype=np.float64)


def with_weights(given: LinearMap, weights: np.ndarray) -> Any:
    """A copy of the model that holds other weights; an intercept follows, so that the mean output stays."""
    refusal = InputError(
        "effective_dim='held_out' needs a model whose weights can be exchanged: a fitted linear model, a metric "
        "learner, or a pipeline of scalers before one. Otherwise pass error=, a function from weights to an error."
    )
    if given.model is None or given.mixed:
        raise refusal
    model = copy.copy(given.model)
    try:
        setattr(model, given.attribute, weights.reshape(np.shape(getattr(model, given.attribute))))
    except AttributeError as error:  # SVC computes its coef_ and predicts without it
        raise refusal from error
    if given.attribute == "coef_" and hasattr(model, "intercept_"):
        shift = (given.weights - weights) @ given.rows.mean(axis=0)
        model.intercept_ = model.intercept_ + shift.reshape(np.shape(model.intercept_))
    return model


# --- weights of regularised regressions -------------------------------------------------------------------------------


#: Share of the L1 part in the penalty of each method; ridge regression has none.
L1_SHARES = {"lasso": 1.0, "elastic net": 0.5}
#: Their penalties run down from the smallest that leaves no weight, over this many powers of ten.
LASSO_POWER = -4
#: Nearly equal features need many steps.
ACCURACY = {"tol": 1e-6, "max_iter": 100_000}
#: Penalties of ridge regression run over this many powers of ten below the largest eigenvalue, and above it.
RIDGE_POWERS = (-6, 3)


def coefficient_paths(X: Numbers, coef: Any, *, n_alphas: int = 50) -> dict[str, tuple[Numbers, Numbers]]:
    """Weights of lasso, elastic net and ridge regression that predict what a linear model does, ``X coef``.

    Parameters
    ----------
    X : array (n_samples, n_features)
    coef : array (n_features,), or a fitted linear model or pipeline with one output
    n_alphas : int, default=50
        Number of penalties per method, the largest first.

    Returns
    -------
    paths : dict
        For each method the L1 norms of the weights, shape (n_alphas,), and the weights, shape (n_alphas, n_features).

    Notes
    -----
    The order in which weights grow is no relevance: among equal features lasso picks one by chance, and the others
    share the weight among all of them, so none looks as if it could be left out. `RelevanceBounds` tells both.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(50, 2))
    >>> X = np.column_stack([x[:, 0], x[:, 0], x[:, 1]])
    >>> {name: weights[-1].round(1).tolist() for name, (_, weights) in coefficient_paths(X, [0.5, 0.5, 1.0]).items()}
    {'lasso': [1.0, 0.0, 1.0], 'elastic net': [0.5, 0.5, 1.0], 'ridge': [0.5, 0.5, 1.0]}
    """
    given = linear_map(np.asarray(X, dtype=np.float64), coef)
    if len(given.weights) != 1:
        raise InputError(f"coef has {len(given.weights)} outputs; pass the weights of one of them.")
    rows = given.rows - given.rows.mean(axis=0)
    target = rows @ given.weights[0]
    largest = float(np.abs(rows.T @ target).max()) / len(rows) or 1.0  # the lasso's smallest penalty without any weight
    penalties = np.logspace(0, LASSO_POWER, n_alphas) * largest
    paths = {
        name: enet_path(rows, target, l1_ratio=share, alphas=penalties / share, **ACCURACY)[1].T
        for name, share in L1_SHARES.items()
    }
    paths["ridge"] = ridge_path(rows, target, n_alphas)
    return {name: (np.abs(weights).sum(axis=1), weights) for name, weights in paths.items()}


def ridge_path(X: Numbers, y: Numbers, n_alphas: int) -> Numbers:
    """``(X^T X + a I)^-1 X^T y`` for penalties a from large to small, by one singular value decomposition."""
    U, singular, Vt = np.linalg.svd(X, full_matrices=False)
    low, high = RIDGE_POWERS
    penalties = np.logspace(high, low, n_alphas) * max(float(singular[0]) ** 2, np.finfo(np.float64).tiny)
    shrunk = singular / (singular**2 + penalties[:, None])
    return np.asarray((shrunk * (U.T @ y)) @ Vt)
