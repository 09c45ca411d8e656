"""`prismap view`: a trained classifier or regressor in, pictures of what it does and how far they are true out."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap._util.glass import behind_glass
from prismap._util.optional import import_extra
from prismap.bundle import written_aside
from prismap.cli import options
from prismap.cli.console import Console, to_json
from prismap.cli.folder import check_folder, folder_aside
from prismap.cli.map import check_method
from prismap.cli.models import MODEL_BYTES, check_model_file, is_pickle, load_model_file
from prismap.exceptions import InputError
from prismap.tables import Roles, Table, TextColumn, label_texts, missing_count, read_table
from prismap.tables._table import quoted

PICTURE, PAGE, FIDELITY = "view.png", "view.html", "fidelity.json"
#: Seconds of a rehearsal with a model of others, and rows that it is asked about.
SECONDS, REHEARSED = 60.0, 200
#: A column so many times wider than the usual one is worth a note.
UNEQUAL_SCALES = 100.0


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the sub-command."""
    parser = subparsers.add_parser(
        "view", parents=[common], help="show what a trained model decides, on a map of its data",
        description="Show what the model in MODEL decides for the rows of DATA, and how faithful the picture is.",
    )  # fmt: skip
    parser.add_argument("model", type=Path, metavar="MODEL", help="file written by skops.io.dump, or .onnx")
    parser.add_argument("data", type=Path, metavar="DATA", help="file with the columns that the model was trained on")
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="OUT", help="folder to write")
    parser.add_argument("--force", action="store_true", help="replace the view that OUT holds")
    parser.add_argument("--title", help="title of the page (default: the name of the file)")
    parser.add_argument(
        "--trust", action="append", default=[], metavar="TYPE",
        help="a type in MODEL that you know and trust, by its full name (may be repeated)",
    )  # fmt: skip
    parser.add_argument(
        "--trust-pickle", action="store_true",
        help="load MODEL even if it is a pickle (.joblib, .pkl), which runs whatever code the file contains",
    )  # fmt: skip
    columns = parser.add_argument_group("columns")
    options.add_place(columns)
    columns.add_argument("--target", metavar="COL", help="the true class or value of a row (npz: y)")
    columns.add_argument("--id", dest="ids", metavar="COL", help="column that names the rows")
    columns.add_argument("--drop", type=options.names, default=(), metavar="COLS", help="columns to leave out: a,b,c")
    columns.add_argument(
        "--groups", metavar="COL", help="column whose rows are not independent: the picture is judged by whole groups"
    )
    columns.add_argument(
        "--standardize", action="store_true",
        help="standardise the columns for the map (default: scale as the model's pipeline does)",
    )  # fmt: skip
    picture = parser.add_argument_group("picture")
    picture.add_argument(
        "--supervise", choices=("labels", "model"), default="labels",
        help="what supervises the map: the target (default), or the model's own predictions",
    )  # fmt: skip
    picture.add_argument("--method", default="tsne", help="the embedding (default: tsne)")
    picture.add_argument(
        "--inverse", choices=("auto", "local", "kernel"), default="auto",
        help="inverse map from the plane to the data: auto (the map's own, or local means), local or kernel",
    )  # fmt: skip
    picture.add_argument(
        "--folds", type=options.rows, default=5, metavar="N", help="folds to judge the view by (default: 5)"
    )
    picture.add_argument(
        "--resolution", type=options.rows, default=200, metavar="N", help="grid points per side (default: 200)"
    )
    picture.add_argument("--seed", type=options.seed, default=0, metavar="N", help="random seed (default: 0)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, console: Console) -> None:
    """Read model and rows, picture, judge, write."""
    check_folder(args.out, force=args.force)
    check_method(args.method)
    check_model_file(args.model, pickles=args.trust_pickle)
    with console.stage(f"reading {args.data}"):
        roles = Roles(args.target, args.ids, args.drop, groups=args.groups)
        table = read_table(args.data, roles, sheet=args.sheet, skip_rows=args.skip_rows)
    for note in table.notes:
        console.note(note)
    with console.stage(f"loading {args.model}"):
        if not is_pickle(args.model):
            rehearse(args.model, args.trust, table)
        model = load_model_file(args.model, args.trust, pickles=args.trust_pickle)
    model, X, names = model_rows(model, table, console)
    view = make_view(model, X, table, args, console)
    with console.stage(f"judging the picture in {args.folds} folds"):
        fidelity = view.cross_validate(args.folds)
    vars(view)["fidelity_"] = fidelity  # where the property keeps it: the caption names it too
    page = make_page(view, X, names, table, args, console)
    with console.stage("writing"), folder_aside(args.out, force=args.force) as folder:
        from prismap.page import write_html

        write_html(page, folder / PAGE)
        about = {"model": view.model_name, "kind": view.kind, "supervised_by": args.supervise}
        document = {**about, **fidelity.to_dict(), "seconds": dict(view.times)}
        with written_aside(folder / FIDELITY) as aside:
            aside.write_text(to_json(document), encoding="utf-8")
        draw(view, folder / PICTURE)
        files = sorted(path.name for path in folder.iterdir())
    text = f"{view.model_name}: {fidelity}\n{fidelity.table()}\n\n{args.out}: {', '.join(files)}"
    console.result(text, {"out": str(args.out), "files": files, **document})


def rehearse(path: Path, trust: list[str], table: Table) -> None:
    """Let a child process load the model and ask it about some rows: what ends it, or has no end, is refused."""
    limits = {"seconds": SECONDS + path.stat().st_size / 2**20, "n_bytes": float(MODEL_BYTES)}
    for _ in behind_glass(_rehearsal, path, trust, table, what=f"the model in {path}", **limits):
        pass


def _rehearsal(path: Path, trust: list[str], table: Table) -> Iterator[bool]:
    """In the child: errors of the model are left to the work that follows, which words them."""
    model, X, _ = model_rows(load_model_file(path, trust), table, Console(quiet=True))
    X = X[np.linspace(0, len(X) - 1, REHEARSED).astype(int)] if len(X) > REHEARSED else X
    for rows in (X, X[:1], 1e6 * X - 1e6):
        for name in ("predict", "predict_proba", "decision_function"):
            with suppress(Exception):
                getattr(model, name)(rows)
    yield True


def model_rows(model: Any, table: Table, console: Console) -> tuple[Any, NDArray[np.float64], list[str]]:
    """The model to show, its rows of numbers, and their names.

    The columns are those the model was trained on, by name if it knows names; of a model that does not, those of
    numbers, if it has as many. A pipeline that handles text and missing values itself gets the table as it is: shown is
    its last step, on what the others make of the table. For any other model missing numbers are the median of their
    column.
    """
    known = getattr(model, "feature_names_in_", None)
    wanted = numbers_for(model, table) if known is None else [str(name) for name in known]
    missing = [name for name in wanted if name not in table.columns]
    if missing:
        raise InputError(
            f"the model was trained on {len(wanted)} columns and the file lacks {len(missing)} of them: "
            f"{quoted(missing)}."
        )
    left = [name for name in table.columns if name not in wanted]
    if left:
        console.note(f"{len(left)} columns that the model does not know were left out: {', '.join(left[:8])}")
    text = [name for name in wanted if isinstance(table.columns[name], TextColumn)]
    gaps = {name: count for name in wanted if (count := missing_count(table.columns[name]))}
    if text or gaps:
        pipeline = getattr(model, "best_estimator_", model)
        if hasattr(pipeline, "steps") and len(pipeline.steps) > 1:
            return handed_over(pipeline, table, wanted, console)
    if text:
        raise InputError(
            f"{quoted(text)} hold text; a model that is no pipeline needs numbers: --target, --id or --drop them."
        )
    if gaps:
        each = ", ".join(f"{name!r} {count}" for name, count in list(gaps.items())[:8])
        console.note(f"missing values were filled with the median of their column for the picture: {each}")
    return model, np.column_stack([filled(table.columns[name]) for name in wanted]), wanted


def numbers_for(model: Any, table: Table) -> list[str]:
    """The columns for a model that knows no names: those of numbers if there are as many as it has, else all."""
    numbers = [name for name, column in table.columns.items() if not isinstance(column, TextColumn)]
    return numbers if getattr(model, "n_features_in_", None) == len(numbers) else list(table.columns)


def filled(column: Any) -> NDArray[np.float64]:
    """Numbers with their median in place of those that are missing; 0 if all are."""
    numbers = np.asarray(column, dtype=np.float64)
    known = np.isfinite(numbers)
    return np.where(known, numbers, np.median(numbers[known]) if known.any() else 0.0)


def handed_over(pipeline: Any, table: Table, wanted: list[str], console: Console) -> tuple[Any, Any, list[str]]:
    """The last step of a pipeline, and what the steps before it make of the raw table."""
    pandas = import_extra("pandas", extra="io", feature="handing a table to a pipeline")
    frame = pandas.DataFrame({name: raw_values(table.columns[name]) for name in wanted})
    head, last = pipeline[:-1], pipeline[-1]
    try:
        X = head.transform(frame if hasattr(pipeline, "feature_names_in_") else frame.to_numpy(dtype=object))
        names = [str(name) for name in head.get_feature_names_out()]
    except Exception as error:
        raise InputError(f"the model's pipeline does not take the columns of the file: {error}") from error
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    if not np.isfinite(X).all():
        raise InputError("the steps before the model leave missing values; a picture needs a pipeline that fills them.")
    steps = " -> ".join(type(step).__name__ for _, step in pipeline.steps[:-1])
    console.note(f"{steps} made {X.shape[1]} features of {len(wanted)} columns; the map is one of these features")
    return last, X, names


def raw_values(column: Any) -> NDArray[Any]:
    """A column as pandas would have it: text with NaN where it is missing."""
    if not isinstance(column, TextColumn):
        return np.asarray(column)
    return np.array([*column.levels, np.nan], dtype=object)[column.codes]


def labels_for(model: Any, target: NDArray[Any] | None) -> NDArray[Any] | None:
    """The target in the model's own labels: files know text and numbers only."""
    from prismap.map._tables import as_quantity

    classes = getattr(model, "classes_", None)
    if target is None:
        return None
    if classes is None:
        return as_quantity(target, "target", target_kind="real")[0]
    own = {str(name): name for name in classes}
    texts = [str(int(v)) if isinstance(v, float) and v.is_integer() else str(v) for v in target.tolist()]
    known = [value is not None and value == value for value in target.tolist()]
    if not all(text in own for text, there in zip(texts, known, strict=True) if there):
        return target
    return np.array([own[text] if there else None for text, there in zip(texts, known, strict=True)], dtype=object)


def make_view(model: Any, X: NDArray[np.float64], table: Table, args: argparse.Namespace, console: Console) -> Any:
    """The `ModelView` of the rows."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from prismap.inspection._model_view import ModelView
    from prismap.inspection._view_data import leading_scalers, map_of_vectors, plane_of

    recipe = map_of_vectors(model, X)
    settings = {"method": args.method, "random_state": args.seed}
    if args.standardize:
        recipe = make_pipeline(StandardScaler(), plane_of(recipe))
    elif not leading_scalers(model):
        spread = X.std(axis=0)
        spread = spread[spread > 0]
        if len(spread) and spread.max() > UNEQUAL_SCALES * np.median(spread):
            console.note("the columns have very different scales and the widest ones rule the map: see --standardize")
    plane_of(recipe).set_params(**settings)
    with console.stage(f"picturing {type(model).__name__} on {len(X)} rows, {X.shape[1]} columns"):
        return ModelView.from_estimator(
            model, X, labels_for(model, table.target), map=recipe, supervision_from=args.supervise,
            inverse=args.inverse, grid_resolution=args.resolution, groups=groups_of(table, args),
        )  # fmt: skip


def groups_of(table: Table, args: argparse.Namespace) -> Any:
    """The groups of the rows, by the column that was named."""
    if args.groups is None:
        return None
    from prismap.map._tables import NamedColumn, unit_values

    return NamedColumn(unit_values(table, args.groups, Roles(ids=args.ids)), args.groups)


def make_page(view: Any, X: Any, names: list[str], table: Table, args: argparse.Namespace, console: Console) -> Any:
    """The page of the map with the decisions behind its points."""
    from prismap.cli.job import judge_map
    from prismap.inspection._view_data import plane_of
    from prismap.page import page_of
    from prismap.page._of_map import with_view

    plane = plane_of(view.map)
    fitted = plane.map_
    if fitted.given.feature_names is None and fitted.given.n_features == len(names):
        # The map is made of an array; notes about its columns name them as the file does.
        plane.map_ = replace(fitted, given=replace(fitted.given, feature_names=np.array(names, dtype=object)))
    judge_map(plane, console)
    columns = {name: X[:, j] for j, name in enumerate(names)}
    about = {"title": args.title or args.data.stem, "row_ids": label_texts(table.ids)}
    page = with_view(page_of(plane, columns=columns, features=False, **about), view)
    note = f"The picture of {view.model_name} behind the points: {view.fidelity_}."
    return replace(page, target=replace(page.target, name=args.target or "target"), notes=(*page.notes, note))


def draw(view: Any, path: Path) -> None:
    """The picture."""
    backend = import_extra("matplotlib.backends.backend_agg", extra="plot", feature="drawing a view")
    figures = import_extra("matplotlib.figure", extra="plot", feature="drawing a view")
    from prismap.inspection._model import figure_height

    figure = figures.Figure(figsize=(9.5, figure_height(view.grid)), layout="constrained")  # no window, no global state
    backend.FigureCanvasAgg(figure)
    view.plot(ax=figure.add_subplot())
    with written_aside(path) as aside:
        figure.savefig(aside, dpi=130, bbox_inches="tight")
