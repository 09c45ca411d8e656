"""The page of a fitted `PrisMap`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from prismap.page_data import Curve, Layer, PageData, Target
from prismap.quality import local_quality
from prismap.relevance import FeatureRelevance

#: Up to so many fitted rows it is told how well each keeps its neighbours: that takes all distances.
MOST_JUDGED_ROWS = 10_000
#: Columns of the data that hover cards and colours offer; a page is not a data base.
MOST_COLUMNS = 40
#: Rows that the relevance of the columns is judged on.
FEWEST_RELEVANCE_ROWS, RELEVANCE_ROWS = 20, 400


def page_of(model, *, title="prismap", columns=None, images=None, row_ids=None) -> PageData:
    """The page of a fitted `PrisMap`: all rows on the map and on its twins, the verdict and its curves."""
    report = model.report()
    columns = columns or data_columns(model)
    Y, far = all_positions(model, model.parts_)
    layers = [Layer("map", "map", Y, "the map" if model.target_ == "none" else "coloured by the true target")]
    # A map read from a file has its report, but no longer its twins.
    if model.twins_ is not None and model.target_ != "none":
        unsupervised, _ = all_positions(model, model.twins_.unsupervised)
        layers.append(Layer("unsupervised", "without target", unsupervised, "the same rows, the target left out"))
        layers += [permuted_layer(model, report.scores[0])] if report.scores else []  # none if every class is rare
    split = np.full(len(Y), "placed", dtype=object)
    split[model.fit_rows_] = "fitted"
    return PageData(
        layers=layers, title=title, target=page_target(model), columns=columns,
        split=split.tolist() if len(set(split)) > 1 else None, far=far,
        quality=fitted_quality(model, len(Y)), report=report.to_dict(),
        curves=[Curve(name, curve.k, curve.value) for name, curve in report.structure.items()],
        images=images, row_ids=row_ids, notes=report.notes, relevance=map_relevance(model, columns),
    )  # fmt: skip


def all_positions(model, parts, rows_fitted=None):
    """Positions of all rows given to `fit` on a map of some of them, and which of them are far from those."""
    fitted = model.fit_rows_ if rows_fitted is None else model.fit_rows_[rows_fitted]
    Y, far = np.empty((model.rows_.shape[0], parts.positions.shape[1])), np.zeros(model.rows_.shape[0], dtype=bool)
    others = np.setdiff1d(np.arange(len(Y)), fitted)
    Y[fitted] = parts.positions
    if len(others):
        rows = model.rows_[others]
        Y[others], distance = parts.place(model.parts_.data.entries(rows, fitted))
        far[others] = distance > parts.far_threshold
    return Y, far


def permuted_layer(model, score):
    """The map of a permuted target, coloured by that target first: by the true one it looks like a success."""
    twins = model.twins_
    Y, _ = all_positions(model, twins.permuted, twins.permuted_rows)
    what, shown = ("labels", ".0%") if model.target_ == "class" else ("values", ".2f")
    error, chance = (format(value, shown).replace("%", " %") for value in (score.permuted.mean, score.chance))
    return Layer(
        "permuted", "permuted target", Y,
        f"Made with shuffled {what}, coloured by the true ones: what separates here is in the data themselves, the "
        "target did not put it there.",
        replace(page_target(model, permuted_target(model)), name=f"shuffled {what}"),
        f"Made with shuffled {what} and coloured by them: order among these colours would be invented. Their "
        f"{score.name} is {error}, by chance {chance}.",
    )  # fmt: skip


def permuted_target(model):
    """The shuffled target of the permuted map; rows that were placed on it have theirs shuffled among each other."""
    twins = model.twins_
    fitted = model.fit_rows_[twins.permuted_rows]
    others = np.setdiff1d(np.arange(len(model.y_)), fitted)
    shuffled = model.y_.copy()
    shuffled[others] = model.y_[np.random.default_rng(model.seed_).permutation(others)]
    shuffled[fitted] = twins.permuted_target
    return shuffled


def page_target(model, y=None):
    """The target in the page's terms; `y` stands in for the map's own."""
    if model.target_ == "none":
        return Target()
    y = model.y_ if y is None else y
    if model.target_ == "real":
        return Target(kind="real", values=y[:, 0] if y.ndim == 2 else y)
    return Target(kind="class", classes=[str(name) for name in model.classes_], codes=y)


def data_columns(model):
    """The first columns of vectors, by name."""
    if model.parts_.data.is_matrix:
        return {}
    rows = model.rows_[:, :MOST_COLUMNS]
    rows = rows.toarray() if sp.issparse(rows) else rows
    names = getattr(model, "feature_names_in_", [f"x{j}" for j in range(rows.shape[1])])
    return {str(name): rows[:, j] for j, name in enumerate(names[: rows.shape[1]])}


def map_relevance(model, columns):
    """How much each numeric column says about neighbourhoods of the map: (names, values), judged on a sample."""
    numeric = {name: np.asarray(values) for name, values in columns.items()}
    numeric = {name: v for name, v in numeric.items() if v.dtype.kind in "fiub" and np.isfinite(v).all()}
    if len(numeric) < 2 or len(model.fit_rows_) < FEWEST_RELEVANCE_ROWS:
        return None
    sample = np.sort(np.random.default_rng(model.seed_).permutation(len(model.fit_rows_))[:RELEVANCE_ROWS])
    X = np.column_stack([values[model.fit_rows_[sample]] for values in numeric.values()]).astype(np.float64)
    return list(numeric), FeatureRelevance("forward", n_permuted=0).fit(X, model.embedding_[sample]).relevance_


def fitted_quality(model, n_rows):
    """Share of each fitted row's ten nearest neighbours that the map keeps; NaN for placed rows."""
    Y = model.embedding_
    n_neighbors = min(10, len(Y) - 2)
    if n_neighbors < 1 or len(Y) > MOST_JUDGED_ROWS:
        return None
    kept = local_quality(None, Y, n_neighbors=n_neighbors, metric=model.metric_)
    quality = np.full(n_rows, np.nan)
    quality[model.fit_rows_] = kept
    return quality
