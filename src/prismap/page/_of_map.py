"""The page of a fitted `PrisMap`: as data, as a file and in a notebook; also with what a trained model decides."""

from __future__ import annotations

import importlib.util
import io
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from prismap.comparisons._content import shown_text
from prismap.inspection._map import MapDisplay
from prismap.inspection._model import fidelity_words
from prismap.inspection._model_view import ModelView
from prismap.judging._judge import Judgement
from prismap.judging._refits import Permuted
from prismap.map._fitted import FittedMap, like_rows
from prismap.map._judged import MadeMap
from prismap.map._recipe import Given
from prismap.map._refit import medoids_of
from prismap.page._data import Curve, Layer, Neighbors, PageData, Raster, Relevance, Version
from prismap.page._data import Target as PageTarget
from prismap.page._document import show_in_notebook, write_html
from prismap.page._keywords import cluster_keywords
from prismap.quality import TargetScore, Trust, local_quality
from prismap.quality._votes import VOTERS
from prismap.relevance import column_relevance
from prismap.tables import label_texts, points_in_time
from prismap.target import Target, shuffle_entries

#: Up to so many fitted rows the page says how well each keeps its neighbours, which takes all distances.
MOST_JUDGED_ROWS = 10_000
NOT_JUDGED = "This map has not been judged: how far it can be trusted is not known."
#: Room for the columns of sparse rows once they are spread out.
SPARSE_BYTES = 200_000_000


def page_of(
    model: Any, *, title: str = "prismap", columns: Any = None, images: Any = None, row_ids: Any = None,
    features: bool = True, target_name: str | None = None, judge: bool = True, verbose: int | None = None,
) -> PageData:  # fmt: skip
    """The page of a fitted `PrisMap`: all rows on the map and its baselines, the verdict and its curves.

    `target_name` is what the page calls the target: by default its name in the table, or that of the series given to
    `fit`. `row_ids` name the rows: by default as the table does.
    `columns`: a mapping or data frame of values to be shown beside the map's features; with `features=False` instead
    of them. `judge=False` makes the page of a map without judging it, and the page says so. `verbose` is as in
    `PrisMap.report`.
    """
    page = page_of_map(
        model.map_, title=title, columns=columns, images=images, row_ids=row_ids, features=features,
        target_name=target_name,
    )  # fmt: skip
    return judged_page(page, model, verbose=verbose) if judge else page


def judged_page(page: PageData, model: Any, *, verbose: int | None = None) -> PageData:
    """The page of a `PrisMap` with its verdict; the map is judged if it was not."""
    report = model.report(verbose=verbose)
    return with_verdict(page, model.map_, model.judgement_, None if report.trust is None else model.trust_)


# --- the map ----------------------------------------------------------------------------------------------------------


def page_of_map(
    fitted: FittedMap, *, title: str, columns: Any, images: Any, row_ids: Any, features: bool, target_name: str | None
) -> PageData:
    """The page of a map that was not judged."""
    given = fitted.given
    own, left_out = data_columns(fitted) if features else ({}, 0)
    columns = {**own, **given_columns(columns)}
    Y, far = fitted.placed
    split = np.full(len(Y), "placed", dtype=object)
    split[given.fitted] = "fitted"
    what = "coloured by the true target" if given.target.exists else "the map"
    return PageData(
        layers=[Layer("map", "map", Y, what)], title=title,
        target=replace(
            page_target(given.target), name=target_name or given_name(given) or "target", unit=given_unit(given)
        ),
        columns={**object_columns(fitted), **other_targets(given), **columns},
        split=split.tolist() if len(set(split)) > 1 else None, far=far, quality=fitted_quality(fitted), images=images,
        row_ids=given_ids(given) if row_ids is None else row_ids, notes=(NOT_JUDGED,),
        relevance=map_relevance(fitted, columns), keywords=cluster_keywords(columns, Y, random_state=fitted.seed),
        left_out=left_out, neighbors=fitted_neighbors(fitted), versions=earlier_versions(fitted),
        changes=() if fitted.movement is None else fitted.movement.changes,
    )  # fmt: skip


def page_target(target: Target) -> PageTarget:
    """The target in the page's terms: of several the first."""
    shown = target.shown
    if not shown.exists:
        return PageTarget()
    if shown.codes is None:
        return PageTarget(kind="real", values=shown.values)
    return PageTarget(kind="class", classes=[str(name) for name in shown.classes], codes=shown.codes)


def given_unit(given: Given) -> Any:
    """ "date" if the values of the first target are days since 1970."""
    encoding = given.encoding
    dates = encoding is not None and encoding.target in encoding.date_targets
    return "date" if dates and given.target.exists and given.target.shown.codes is None else None


def other_targets(given: Given) -> dict[str, Any]:
    """The targets that the page is not coloured by at first, as columns by name."""
    target, dates = given.target, () if given.encoding is None else given.encoding.date_targets
    return {
        name: np.array(one.texts, dtype=object)
        if one.texts is not None
        else points_in_time(one.values)
        if name in dates
        else one.values
        for name, one in zip(target.names[1:], target.columns[1:], strict=False)
    }


def data_columns(fitted: FittedMap) -> tuple[dict[str, Any], int]:
    """The features of vectors by name, and how many are left out: of sparse rows those that vary least.

    Those of a table are its columns, as they were before they were encoded.
    """
    if fitted.data.is_matrix:
        return {}, 0
    rows, names = fitted.given.rows, fitted.given.column_names
    if fitted.given.encoding is not None:
        return fitted.given.encoding.decoded(rows), 0
    kept = np.arange(len(names))
    if sp.issparse(rows):
        room = max(1, SPARSE_BYTES // (4 * rows.shape[0]))
        variance = np.asarray(rows.multiply(rows).mean(axis=0)) - np.asarray(rows.mean(axis=0)) ** 2
        kept = np.sort(np.argsort(-variance.ravel(), kind="stable")[:room])
        rows = rows[:, kept].astype(np.float32).toarray()
    return {names[j]: rows[:, place] for place, j in enumerate(kept)}, len(names) - len(kept)


def given_name(given: Given) -> str | None:
    """What the target was called where it came from; None if it had no name."""
    if given.target.names:
        return given.target.names[0]
    return getattr(given.encoding, "target", None) or given.target_name


def given_ids(given: Given) -> Any:
    """The names of the rows in the table that the map was made of; None where they are only numbered."""
    if given.row_names is None or len(given.row_names) != len(given):
        return None
    names = np.asarray(given.row_names)
    counted = names.dtype.kind in "iu" and np.array_equal(names, np.arange(len(names)))
    return None if counted else label_texts(names)


def given_columns(columns: Any) -> dict[str, NDArray[Any]]:
    """Further columns by name, out of a mapping or a data frame."""
    if columns is None:
        return {}
    if hasattr(columns, "columns"):
        return {str(name): columns[name].to_numpy() for name in columns.columns}
    return {str(name): np.asarray(values) for name, values in columns.items()}


def map_relevance(fitted: FittedMap, columns: dict[str, Any]) -> Relevance | None:
    """How much each column says about the neighbourhoods of the fitted rows."""
    of_fitted = {name: np.asarray(values)[fitted.given.fitted] for name, values in columns.items()}
    judged = column_relevance(of_fitted, like_rows(fitted.positions, fitted.rows), random_state=fitted.seed)
    if judged is None:
        return None
    names = judged.feature_names_in_.tolist()
    return Relevance(names, judged.relevance_, judged.baseline_, judged.spread_, judged.threshold_)


def fitted_neighbors(fitted: FittedMap) -> Neighbors | None:
    """The ten nearest of each fitted row among them, in the data and in the metric of the map, and how far they are."""
    n_rows, data, metric = len(fitted.positions), fitted.data, fitted.metric
    n_neighbors = min(VOTERS, n_rows - 2)
    if n_neighbors < 1 or n_rows > MOST_JUDGED_ROWS:
        return None
    distances, by_data = data.kneighbors(None, n_neighbors)
    by_metric = None
    if metric is not data:
        distances, by_metric = metric.kneighbors(None, n_neighbors)
    return Neighbors(fitted.given.fitted, by_data, by_metric, distances)


def earlier_versions(fitted: FittedMap) -> list[Version]:
    """All given rows on the maps before this one; of fitted rows alone it is known where they were."""
    shown = []
    for age, version in zip(range(len(fitted.versions), 0, -1), fitted.versions, strict=True):
        positions = np.full((len(fitted.given), 2), np.nan)
        positions[fitted.given.fitted] = version.positions
        label = version.label or ("the map before" if age == 1 else f"{age} maps before")
        shown.append(Version(label, positions, version.gone))
    return shown


def fitted_quality(fitted: FittedMap) -> np.ndarray | None:
    """Share of each fitted row's ten nearest neighbours that the map keeps; NaN for placed rows."""
    Y = like_rows(fitted.positions, fitted.rows)
    n_neighbors = min(VOTERS, len(Y) - 2)
    if n_neighbors < 1 or len(Y) > MOST_JUDGED_ROWS:
        return None
    quality = np.full(len(fitted.given), np.nan)
    quality[fitted.given.fitted] = local_quality(None, Y, n_neighbors=n_neighbors, metric=fitted.metric)
    return quality


def object_columns(fitted: FittedMap) -> dict[str, np.ndarray]:
    """Columns "object" and "most typical of"; none for rows that are no objects."""
    if fitted.data.kind != "objects":
        return {}
    texts = np.array([shown_text(thing) for thing in fitted.given.rows.objects], dtype=object)
    groups: dict[int, list[str]] = {}
    for one in medoids_of(fitted):
        groups.setdefault(one["row"], []).append(one["of"])
    if not groups:
        return {"object": texts}
    typical = np.array([", ".join(groups[row]) if row in groups else None for row in range(len(texts))], dtype=object)
    return {"object": texts, "most typical of": typical}


# --- its verdict ------------------------------------------------------------------------------------------------------


def with_verdict(page: PageData, fitted: FittedMap, judgement: Judgement, trust: Trust | None) -> PageData:
    """The page of a map with its verdict, and with the maps that it was compared with."""
    report, comparison, layers = judgement.report, judgement.comparison, list(page.layers)
    # A map read from a file has its report, but no longer the maps that it was compared with.
    if comparison is not None and isinstance(comparison.plain, MadeMap):
        unsupervised, _ = fitted.place_given(comparison.plain.fitted, comparison.plain_rows)
        layers.append(Layer("unsupervised", "without target", unsupervised, "the same rows, the target left out"))
        if report.scores and comparison.permuted:  # none if every class is rare
            layers.append(permuted_layer(fitted, comparison.permuted[0], report.scores[0]))
    notes = (*report.notes, *(note for note in page.notes if note != NOT_JUDGED))
    curves = [Curve(name, one.k, one.value) for name, one in report.structure.items()]
    name = "trust" if "trust" not in page.columns else "trust in the map"
    columns = page.columns if trust is None else {**page.columns, name: trust.value}
    return replace(page, columns=columns, layers=layers, report=report.to_dict(), curves=curves, notes=notes)


def permuted_layer(fitted: FittedMap, permuted: Permuted, score: TargetScore) -> Layer:
    """The map of a permuted target, coloured by that target first: by the true one it looks like a success."""
    assert isinstance(permuted.made, MadeMap)
    Y, _ = fitted.place_given(permuted.made.fitted, permuted.rows)
    what, shown = ("values", ".2f") if fitted.target.codes is None else ("labels", ".0%")
    null = [] if score.permuted is None else [score.permuted.mean]
    error, chance = (format(value, shown).replace("%", " %") for value in (*null, score.chance))
    return Layer(
        "permuted", "permuted target", Y,
        f"Made with shuffled {what}, coloured by the true ones: what separates here is in the data themselves, the "
        "target did not put it there.",
        replace(page_target(permuted_target(fitted, permuted)), name=f"shuffled {what}"),
        f"Made with shuffled {what} and coloured by them: order among these colours would be invented. Their "
        f"{score.name} is {error}, by chance {chance}.",
    )  # fmt: skip


def permuted_target(fitted: FittedMap, permuted: Permuted) -> Target:
    """The shuffled target of the permuted map; rows that were placed on it have theirs shuffled among each other."""
    given = fitted.given
    on_map = given.fitted[permuted.rows]
    others = np.setdiff1d(np.arange(len(given)), on_map)
    shuffled = shuffle_entries(given.target.values, others, np.random.default_rng(fitted.seed))
    shuffled[on_map] = permuted.target.values
    return given.target.with_values(shuffled)


# --- the page as a file and in a notebook -----------------------------------------------------------------------------


def write_page(fitted: Any, path: str | os.PathLike[str], *, model: Any = None, **options: Any) -> Path:
    """Write the self-contained page of a fitted `PrisMap`; a trained `model` is shown behind its points."""
    page = page_of(fitted, **options)
    return write_html(page if model is None else with_model(page, fitted, model), path)


def show_page(fitted: Any, *, judge: bool = True, verbose: int | None = None, **options: Any) -> Any:
    """The page of a fitted `PrisMap` in a notebook: the map at once, the verdict when it is there."""
    page = page_of(fitted, judge=False, **options)
    if judge and fitted.judgement_ is not None:
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
    display: Any = MapDisplay(np.asarray(page.layers[0].positions), entries, classes, page.title, unit=target.unit)
    display.plot(figure.add_subplot())
    with io.BytesIO() as file:
        figure.savefig(file, format="png", dpi=80)
        return file.getvalue()


# --- a trained model behind the points --------------------------------------------------------------------------------


#: Places along each side of the page's picture.
RESOLUTION = 200


def with_model(page: PageData, fitted: Any, model: Any) -> PageData:
    """The page of a fitted `PrisMap` with what a trained model says at every place and of every row."""
    given = fitted.map_.given
    y = given.target.shown.named if given.target.exists else None
    return with_view(page, ModelView.from_estimator(model, given.rows, y, map=fitted, grid_resolution=RESOLUTION))


def with_view(page: PageData, view: ModelView) -> PageData:
    """The page with the picture of a view of the same rows on the same map, in the colours of its points."""
    rgba = view.task.paint(view, opaque=False)
    legend = f"{view.task.picture} of {view.model_name} behind the points"
    words = f"{view.model_name}: {fidelity_words(view)}"
    raster = Raster(rgba[::-1], view.grid.extent, legend, page.layers[0].id, words)
    return replace(page, raster=raster, misshown=view.misshown, target=target_of(page.target, view))


def target_of(target: PageTarget, view: ModelView) -> PageTarget:
    """The page's target with the model's answers beside it."""
    kind: Any = view.kind
    own = replace(target, kind=kind, classes=[str(name) for name in view.classes])
    return own.with_entries(view.predicted if view.truth is None else view.truth, view.predicted)
