"""`prismap view`: a trained classifier or regressor in, pictures of what it does and how far they are true out."""

from __future__ import annotations

import argparse
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap._optional import import_extra
from prismap.bundle import written_aside
from prismap.cli import options
from prismap.cli.console import Console, to_json
from prismap.cli.folder import check_folder, folder_aside
from prismap.exceptions import FileFormatError, InputError
from prismap.tables import Roles, Table, TextColumn, label_texts, read_table

PICTURE, PAGE, FIDELITY = "view.png", "view.html", "fidelity.json"
#: Bytes that a model may take once it is unpacked.
MODEL_BYTES = 2**32
#: A column so many times wider than the usual one is worth a note.
UNEQUAL_SCALES = 100.0
#: Types beyond those that skops trusts by itself. A file says what it holds, never what is to be trusted.
TRUSTED = frozenset({
    "prismap.learners.gmlvq.GMLVQ",
    "prismap.learners.rslvq.RSLVQ",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
    "sklearn.gaussian_process.kernels.ConstantKernel",
    "sklearn.gaussian_process.kernels.Product",
    "sklearn.gaussian_process.kernels.RBF",
    "sklearn.gaussian_process.kernels.Sum",
    "sklearn.gaussian_process.kernels.WhiteKernel",
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
    "sklearn.neighbors._kd_tree.KDTree",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.tree._tree.Tree",
})  # fmt: skip


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the sub-command."""
    parser = subparsers.add_parser(
        "view", parents=[common], help="picture a trained classifier or regressor",
        description="Show what the model in MODEL (skops) does on the rows of DATA, and how far the picture is true.",
    )  # fmt: skip
    parser.add_argument("model", type=Path, metavar="MODEL", help="file written by skops.io.dump")
    parser.add_argument("data", type=Path, metavar="DATA", help="rows with the columns the model was trained on")
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="OUT", help="folder to write")
    parser.add_argument("--force", action="store_true", help="replace the view that OUT holds")
    parser.add_argument("--title", help="title of the page (default: the name of the file)")
    parser.add_argument(
        "--trust", action="append", default=[], metavar="TYPE",
        help="a type in MODEL that you know and trust, by its full name (may be repeated)",
    )  # fmt: skip
    columns = parser.add_argument_group("columns")
    columns.add_argument("--target", metavar="COL", help="the true class or value of a row (npz: y)")
    columns.add_argument("--id", dest="ids", metavar="COL", help="column that names the rows")
    columns.add_argument("--drop", type=options.names, default=(), metavar="COLS", help="columns to leave out: a,b,c")
    columns.add_argument(
        "--standardize", action="store_true",
        help="map columns of mean 0 and variance 1 (default: as the scalers in the model's pipeline do)",
    )  # fmt: skip
    picture = parser.add_argument_group("picture")
    picture.add_argument(
        "--supervise", choices=("labels", "model"), default="labels",
        help="what the map is made to show: the target (default), or the model's own answers",
    )  # fmt: skip
    picture.add_argument("--method", default="tsne", help="how rows become positions (default: tsne)")
    picture.add_argument("--folds", type=options.rows, default=5, metavar="N", help="parts to judge the view by (5)")
    picture.add_argument("--resolution", type=options.rows, default=200, metavar="N", help="places along a side (200)")
    picture.add_argument("--seed", type=options.seed, default=0, metavar="N", help="random seed (default: 0)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, console: Console) -> None:
    """Read model and rows, picture, judge, write."""
    check_folder(args.out, force=args.force)
    with console.stage(f"loading {args.model}"):
        model = load_trusted(args.model, args.trust)
    with console.stage(f"reading {args.data}"):
        table = read_table(args.data, Roles(args.target, args.ids, args.drop))
    for note in table.notes:
        console.note(note)
    X, names = model_rows(model, table, console)
    view = make_view(model, X, table, args, console)
    with console.stage(f"judging the picture in {args.folds} folds"):
        fidelity = view.cross_validate(args.folds)
    vars(view)["fidelity_"] = fidelity  # where the property keeps it: the caption tells it too
    page = make_page(view, X, names, table, args, console)
    with console.stage("writing"), folder_aside(args.out, force=args.force) as folder:
        from prismap.explorer import write_html

        write_html(page, folder / PAGE)
        about = {"model": view.model_name, "kind": view.kind, "supervised_by": args.supervise}
        document = {**about, **fidelity.to_dict(), "seconds": dict(view.times)}
        with written_aside(folder / FIDELITY) as aside:
            aside.write_text(to_json(document), encoding="utf-8")
        draw(view, folder / PICTURE)
        files = sorted(path.name for path in folder.iterdir())
    text = f"{view.model_name}: {fidelity}\n{fidelity.table()}\n\n{args.out}: {', '.join(files)}"
    console.result(text, {"out": str(args.out), "files": files, **document})


def load_trusted(path: Path, trust: list[str]) -> Any:
    """The model in a skops file, unless it holds types that nobody has vouched for."""
    if not path.is_file():
        raise InputError(f"there is no file {path}: name a model written by skops.io.dump.")
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(one.file_size for one in archive.infolist())
    except (zipfile.BadZipFile, OSError) as error:
        raise FileFormatError(f"{path} is no skops file ({error}); write one with skops.io.dump.") from error
    if size > MODEL_BYTES:
        raise FileFormatError(f"{path} would take {size / 2**30:.1f} GiB, more than any model may.")
    skops = import_extra("skops.io", extra="models", feature="reading a model")
    try:
        unknown = sorted(set(skops.get_untrusted_types(file=path)) - TRUSTED - set(trust))
    except Exception as error:
        raise FileFormatError(f"{path} cannot be read as a skops file: {error}") from error
    if unknown:
        shown = ", ".join(unknown[:4]) + (f" and {len(unknown) - 4} more" if unknown[4:] else "")
        raise InputError(
            f"{path} holds types that are not trusted: {shown}. Loading them could run their code: if you made the "
            f"file, or trust who did, add {' '.join(f'--trust {name}' for name in unknown[:4])}."
        )
    try:
        return skops.load(path, trusted=sorted(TRUSTED | set(trust)))
    except Exception as error:
        raise FileFormatError(f"{path} cannot be loaded by this installation: {error}") from error


def model_rows(model: Any, table: Table, console: Console) -> tuple[NDArray[np.float64], list[str]]:
    """The columns the model was trained on, by name if it knows names, as rows of numbers."""
    known = getattr(model, "feature_names_in_", None)
    wanted = list(table.columns) if known is None else [str(name) for name in known]
    missing = [name for name in wanted if name not in table.columns]
    if missing:
        raise InputError(
            f"the model was trained on {len(wanted)} columns and the file lacks {len(missing)} of them: "
            f"{', '.join(map(repr, missing[:8]))}."
        )
    text = [name for name in wanted if isinstance(table.columns[name], TextColumn)]
    if text:
        raise InputError(
            f"{', '.join(map(repr, text[:8]))} hold text; a view needs numbers: --target, --id or --drop them."
        )
    X = np.column_stack([np.asarray(table.columns[name], dtype=np.float64) for name in wanted])
    bad = {name: int((~np.isfinite(X[:, j])).sum()) for j, name in enumerate(wanted)}
    if any(bad.values()):
        each = ", ".join(f"{name!r} {count}" for name, count in bad.items() if count)
        raise InputError(f"missing or infinite values, of {len(X)} rows: {each}. Fill them, or leave those rows out.")
    left = [name for name in table.columns if name not in wanted]
    if left:
        console.note(f"{len(left)} columns that the model does not know were left out: {', '.join(left[:8])}")
    return X, wanted


def labels_for(model: Any, target: NDArray[Any] | None) -> NDArray[Any] | None:
    """The target in the model's own labels: files know text and numbers only."""
    classes = getattr(model, "classes_", None)
    if target is None or classes is None:
        return target
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

    from prismap.inspection.model_view import ModelView, default_map, leading_scalers

    recipe = default_map(model, X)
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
            grid_resolution=args.resolution,
        )  # fmt: skip


def plane_of(recipe: Any) -> Any:
    """The `PrisMap` of a recipe: itself, or the last step of a pipeline."""
    return recipe.steps[-1][1] if hasattr(recipe, "steps") else recipe


def make_page(view: Any, X: Any, names: list[str], table: Table, args: argparse.Namespace, console: Console) -> Any:
    """The page of the map with the decisions behind its points."""
    from prismap.cli.job import judge_map
    from prismap.pages import page_of, with_view

    plane = plane_of(view.map)
    judge_map(plane, console)
    columns = {name: X[:, j] for j, name in enumerate(names)}
    about = {"title": args.title or args.data.stem, "row_ids": label_texts(table.ids)}
    page = with_view(page_of(plane, columns=columns, features=False, **about), view)
    told = f"The picture of {view.model_name} behind the points: {view.fidelity_}."
    return replace(page, target=replace(page.target, name=args.target or "target"), notes=(*page.notes, told))


def draw(view: Any, path: Path) -> None:
    """The picture."""
    backend = import_extra("matplotlib.backends.backend_agg", extra="plot", feature="drawing a view")
    figures = import_extra("matplotlib.figure", extra="plot", feature="drawing a view")
    from prismap.inspection.model import figure_height

    figure = figures.Figure(figsize=(9.5, figure_height(view.grid)), layout="constrained")  # no window, no global state
    backend.FigureCanvasAgg(figure)
    view.plot(ax=figure.add_subplot())
    with written_aside(path) as aside:
        figure.savefig(aside, dpi=130, bbox_inches="tight")
