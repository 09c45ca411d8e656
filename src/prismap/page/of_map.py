"""The page of a fitted `PrisMap`: as data, as a file and in a notebook."""

from __future__ import annotations

import importlib.util
import io
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from prismap.comparisons.shown import shown_text
from prismap.inspection.map import MapDisplay
from prismap.map.medoids import medoids_of
from prismap.metrics.several import column_of, is_several, shown_column
from prismap.page.data import Curve, Layer, Neighbors, PageData, Relevance, Target
from prismap.page.document import show_in_notebook, write_html
from prismap.page.of_model import with_model
from prismap.quality import local_quality
from prismap.relevance import column_relevance
from prismap.tables import label_texts

#: Up to so many fitted rows the page says how well each keeps its neighbours, which takes all distances.
MOST_JUDGED_ROWS = 10_000
NOT_JUDGED = "This map has not been judged: how far it can be trusted is not known."
#: Neighbours of a row that are looked at.
N_NEIGHBORS = 10
#: Room for the columns of sparse rows once they are spread out.
SPARSE_BYTES = 200_000_000


def page_of(
    model, *, title="prismap", columns=None, images=None, row_ids=None, features=True, target_name=None,
    judge=True, verbose=None,
) -> PageData:  # fmt: skip
    """The page of a fitted `PrisMap`: all rows on the map and its baselines, the verdict and its curves.

    `target_name` is what the page calls the target: by default its name in the table, or that of the series given to
    `fit`. `row_ids` name the rows: by default as the table does.
    `columns`: a mapping or data frame of values to be shown beside the map's features; with `features=False` instead
    of them. `judge=False` makes the page of a map without judging it, and the page says so. `verbose` is as in
    `PrisMap.report`.
    """
    target_name = target_name or given_name(model) or "target"
    row_ids = given_ids(model) if row_ids is None else row_ids
    own, left_out = data_columns(model) if features else ({}, 0)
    columns = {**own, **given_columns(columns)}
    shown = {**object_columns(model), **other_targets(model), **columns}
    Y, far = all_positions(model, model.parts_)
    split = np.full(len(Y), "placed", dtype=object)
    split[model.fit_rows_] = "fitted"
    page = PageData(
        layers=[Layer("map", "map", Y, "the map" if model.target_ == "none" else "coloured by the true target")],
        title=title, target=replace(page_target(model), name=target_name), columns=shown,
        split=split.tolist() if len(set(split)) > 1 else None, far=far,
        quality=fitted_quality(model, len(Y)), images=images, row_ids=row_ids, notes=(NOT_JUDGED,),
        relevance=map_relevance(model, columns), left_out=left_out, neighbors=fitted_neighbors(model),
    )  # fmt: skip
    return judged_page(page, model, verbose=verbose) if judge else page


def judged_page(page, model, *, verbose=None) -> PageData:
    """The page of a map with its verdict, and with the maps that it was compared with."""
    report = model.report(verbose=verbose)
    layers = list(page.layers)
    # A map read from a file has its report, but no longer its twins.
    if model.twins_ is not None and model.target_ != "none":
        unsupervised, _ = all_positions(model, model.twins_.unsupervised)
        layers.append(Layer("unsupervised", "without target", unsupervised, "the same rows, the target left out"))
        layers += [permuted_layer(model, report.scores[0])] if report.scores else []  # none if every class is rare
    notes = (*report.notes, *(note for note in page.notes if note != NOT_JUDGED))
    curves = [Curve(name, one.k, one.value) for name, one in report.structure.items()]
    columns = {**page.columns, **trust_column(model, report, page.columns)}
    return replace(page, columns=columns, layers=layers, report=report.to_dict(), curves=curves, notes=notes)


def trust_column(model, report, columns):
    """How far each row can be trusted, as one more column of a judged map; by another name where that one is taken."""
    if report is None or report.trust is None:
        return {}
    return {"trust" if "trust" not in columns else "trust in the map": model.trust_.value}


def all_positions(model: Any, parts: Any, rows_fitted: Any = None) -> Any:
    """Positions of all rows given to `fit` on a map of some of them, and which of them are far from those."""
    if parts is model.parts_:
        return model.placed_rows()
    fitted = model.fit_rows_ if rows_fitted is None else model.fit_rows_[rows_fitted]
    Y, far = np.empty((model.rows_.shape[0], parts.positions.shape[1])), np.zeros(model.rows_.shape[0], dtype=bool)
    others = np.setdiff1d(np.arange(len(Y)), fitted)
    Y[fitted] = parts.positions
    Y[others], distance = parts.place_some(model.rows_, others, fitted)
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
    y = shown_column(model.y_ if y is None else y, model.target_)
    if model.shown_classes() is None:
        return Target(kind="real", values=y)
    return Target(kind="class", classes=[str(name) for name in model.shown_classes()], codes=y)


def other_targets(model):
    """The targets that the page is not coloured by at first, as columns by name."""
    if not is_several(model.target_):
        return {}
    columns = {}
    for t, (name, classes) in enumerate(zip(model.target_names_, model.classes_, strict=True)):
        values = column_of(model.y_, model.target_, t)
        columns[name] = values if classes is None else np.array([*map(str, classes), None], dtype=object)[values]
    return {name: columns[name] for name in model.target_names_[1:]}


def data_columns(model):
    """The features of vectors by name, and how many are left out: of sparse rows those that vary least."""
    if model.parts_.data.is_matrix:
        return {}, 0
    rows, n_columns = model.rows_, model.rows_.shape[1]
    names = [str(name) for name in getattr(model, "feature_names_in_", [f"x{j}" for j in range(n_columns)])]
    kept = np.arange(n_columns)
    if sp.issparse(rows):
        room = max(1, SPARSE_BYTES // (4 * rows.shape[0]))
        variance = np.asarray(rows.multiply(rows).mean(axis=0)) - np.asarray(rows.mean(axis=0)) ** 2
        kept = np.sort(np.argsort(-variance.ravel(), kind="stable")[:room])
        rows = rows[:, kept].astype(np.float32).toarray()
    return {names[j]: rows[:, place] for place, j in enumerate(kept)}, n_columns - len(kept)


def given_name(model):
    """What the target was called where it came from; None if it had no name."""
    names = getattr(model, "target_names_", ())
    return names[0] if names else getattr(model.encoding_, "target", None) or getattr(model, "target_name_", None)


def given_ids(model):
    """The names of the rows in the table that the map was made of; None where they are only numbered."""
    names = model.index_
    if names is None or len(names) != model.rows_.shape[0]:
        return None
    names = np.asarray(names)
    counted = names.dtype.kind in "iu" and np.array_equal(names, np.arange(len(names)))
    return None if counted else label_texts(names)


def given_columns(columns):
    """Further columns by name, out of a mapping or a data frame."""
    if columns is None:
        return {}
    if hasattr(columns, "columns"):
        return {str(name): columns[name].to_numpy() for name in columns.columns}
    return {str(name): np.asarray(values) for name, values in columns.items()}


def map_relevance(model, columns):
    """How much each column says about the neighbourhoods of the fitted rows."""
    fitted = {name: np.asarray(values)[model.fit_rows_] for name, values in columns.items()}
    judged = column_relevance(fitted, model.embedding_, random_state=model.seed_)
    if judged is None:
        return None
    names = judged.feature_names_in_.tolist()
    return Relevance(names, judged.relevance_, judged.baseline_, judged.spread_, judged.threshold_)


def fitted_neighbors(model):
    """The ten nearest of each fitted row among them, in the data and in the metric of the map."""
    n_rows = len(model.embedding_)
    n_neighbors = min(N_NEIGHBORS, n_rows - 2)
    if n_neighbors < 1 or n_rows > MOST_JUDGED_ROWS:
        return None
    data, metric = model.parts_.data, model.metric_
    by_metric = None if metric is data else metric.kneighbors(None, n_neighbors)[1]
    return Neighbors(model.fit_rows_, data.kneighbors(None, n_neighbors)[1], by_metric)


def fitted_quality(model, n_rows):
    """Share of each fitted row's ten nearest neighbours that the map keeps; NaN for placed rows."""
    Y = model.embedding_
    n_neighbors = min(N_NEIGHBORS, len(Y) - 2)
    if n_neighbors < 1 or len(Y) > MOST_JUDGED_ROWS:
        return None
    kept = local_quality(None, Y, n_neighbors=n_neighbors, metric=model.metric_)
    quality = np.full(n_rows, np.nan)
    quality[model.fit_rows_] = kept
    return quality


def object_columns(model: Any) -> dict[str, np.ndarray]:
    """Columns "object" and "most typical of"; none for rows that are no objects."""
    if model.parts_.data.kind != "objects":
        return {}
    texts = np.array([shown_text(thing) for thing in model.rows_.objects], dtype=object)
    groups: dict[int, list[str]] = {}
    for one in medoids_of(model):
        groups.setdefault(one["row"], []).append(one["of"])
    if not groups:
        return {"object": texts}
    typical = np.array([", ".join(groups[row]) if row in groups else None for row in range(len(texts))], dtype=object)
    return {"object": texts, "most typical of": typical}


def write_page(fitted: Any, path: str | os.PathLike[str], *, model: Any = None, **options: Any) -> Path:
    """Write the self-contained page of a fitted `PrisMap`; a trained `model` is shown behind its points."""
    page = page_of(fitted, **options)
    return write_html(page if model is None else with_model(page, fitted, model), path)


def show_page(fitted: Any, *, judge: bool = True, verbose: int | None = None, **options: Any) -> Any:
    """The page of a fitted `PrisMap` in a notebook: the map at once, the verdict when it is there."""
    page = page_of(fitted, judge=False, **options)
    if judge and fitted.report_dict() is not None:
        page, judge = judged_page(page, fitted), False

    def later(callback: Any) -> Any:
        fitted.report(callback=callback, verbose=verbose)
        return judged_page(page, fitted)

    return show_in_notebook(page, index=fitted.index_, later=later if judge else None, picture=picture_of(page))


def picture_of(page: PageData) -> bytes | None:
    """The map of a page as a small PNG; None without matplotlib."""
    if importlib.util.find_spec("matplotlib") is None:
        return None
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    target = page.target
    figure = Figure(figsize=(7, 5), layout="constrained")
    FigureCanvasAgg(figure)
    entries = None if target.entries is None else np.asarray(target.entries)
    classes = list(target.classes) if target.has_classes else None
    display: Any = MapDisplay(np.asarray(page.layers[0].positions), entries, classes, page.title)
    display.plot(figure.add_subplot())
    with io.BytesIO() as file:
        figure.savefig(file, format="png", dpi=80)
        return file.getvalue()
