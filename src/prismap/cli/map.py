"""`prismap map`: a file in, a folder with the map, its model, report, page and picture out."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap._util.threads import limit_threads
from prismap.cli import options
from prismap.cli.console import Console
from prismap.cli.folder import check_folder
from prismap.cli.job import Job, load_model, run_job, stated_notes
from prismap.exceptions import InputError
from prismap.tables import ENDINGS, Roles, Table, TableEncoding, TextColumn, read_table, reader_of

DATA = ("vectors", "cosine", "similarity", "dissimilarity")

#: Mappings of `PrisMap` by name; "own" has no name for files.
MAPPINGS = ("auto", "fisher", "euclidean", "svr", "cost", "elm", "direct", "vote", "parametric")


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the sub-command."""
    parser = subparsers.add_parser(
        "map", parents=[common], help="make a map of a data file",
        description="Make a map of FILE (csv, tsv, jsonl, xlsx, parquet, arrow, npz, npy, h5ad, or a folder of parquet "
        "files) and write a folder with the map, its report, page and model.",
    )  # fmt: skip
    parser.add_argument("file", type=Path, metavar="FILE", help="file with one row per sample, or a folder of parquet")
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="OUT", help="folder to write")
    parser.add_argument("--force", action="store_true", help="replace the map that OUT holds")
    add_data_options(parser)
    parser.set_defaults(run=run)


def add_data_options(parser: argparse.ArgumentParser) -> None:
    """How a data file becomes a map: `read_job` reads these."""
    parser.add_argument("--title", help="title of the page and the picture (default: the name of the file)")
    columns = parser.add_argument_group("columns")
    options.add_place(columns)
    columns.add_argument(
        "--target", action="append", metavar="COL",
        help="column that the map is about. Empty cells are rows without a label (npz: y). Repeat it for more targets",
    )  # fmt: skip
    columns.add_argument(
        "--given", metavar="COL",
        help="column of levels that are known and of no interest, such as a batch: the map leaves out what they shift",
    )  # fmt: skip
    options.add_columns(columns)
    options.add_units(columns)
    columns.add_argument("--data", choices=DATA, help="what the columns hold (default: vectors)")
    columns.add_argument(
        "--standardize", action=argparse.BooleanOptionalAction,
        help="bring every column to mean 0 and variance 1 (default, except with --data cosine, for cells and counts)",
    )  # fmt: skip
    columns.add_argument(
        "--normalize", choices=("counts",),
        help="counts: the numbers of a row are counts, such as those of a cell. They are divided by their sum, and "
        "log(1 + x) is taken",
    )  # fmt: skip
    columns.add_argument(
        "--rep", metavar="KEY", help="for h5ad files: the entry of obsm, or the layer, to use (default: X)"
    )
    columns.add_argument("--impute", choices=("median",), help="fill missing values (default: leave them out)")
    columns.add_argument(
        "--images", type=options.shape, metavar="HxW",
        help="rows are grey images of H x W pixels, which the page shows (HxWx3: in colour)",
    )  # fmt: skip
    add_object_options(parser)
    fit = parser.add_argument_group("map")
    fit.add_argument(
        "--method", default="tsne",
        help="the embedding: tsne, nerv, mds, elastic, isomap, lle, mvu, som, gtm, kpca or kda "
        "(default: tsne)",
    )  # fmt: skip
    fit.add_argument(
        "--arrangement", type=options.arrangement, metavar="A",
        help="how strongly t-SNE keeps distances between groups: from 0 (default, not at all) to 1, or auto (the "
        "largest that neighbours can afford)",
    )  # fmt: skip
    fit.add_argument(
        "--like", type=Path, metavar="OUT",
        help="folder of an earlier map: rows and groups stay where they were on it as far as the new data allow",
    )  # fmt: skip
    fit.add_argument(
        "--target-kind", type=options.kinds, default="auto", metavar="KIND",
        help="what the target is: class, ordered, real, none (ignores it) or auto (default, which decides by its "
        "values). With several targets, one kind for all or one for each: class,real",
    )  # fmt: skip
    fit.add_argument(
        "--supervision",
        type=options.supervision,
        metavar="W",
        help="share of the target from 0 to 1, max, or auto (default: the smallest that does as well as the best)",
    )
    fit.add_argument("--metric", metavar="NAME", help="distances of the map (default: fisher): manhattan, cosine, ...")
    fit.add_argument(
        "--mapping",
        choices=MAPPINGS,
        help="projection of new rows (default: auto, the better of fisher and vote on rows that are left out)",
    )
    fit.add_argument(
        "--fit-rows", type=options.rows_or_time, metavar="N",
        help="rows to embed (default: 5000), or a time such as '10 min' for as many as it allows. The others are "
        "projected",
    )  # fmt: skip
    fit.add_argument("--quick", action="store_true", help="do not judge the map")
    fit.add_argument(
        "--budget", type=options.budget, metavar="B",
        help="time for judging: full (default, about twice the time of the fit), quick (half of it), seconds, or a "
        "time such as '5 min'",
    )  # fmt: skip
    fit.add_argument(
        "--forecast", action="store_true", help="with --order: judge the last fifth by what came before it"
    )
    fit.add_argument("--perplexity", type=options.from_one, metavar="P", help="effective number of neighbours")
    fit.add_argument("--seed", type=options.seed, default=0, metavar="N", help="random seed (default: 0)")
    fit.add_argument("--jobs", type=int, metavar="N", help="processor cores to use (-1: all)")


def run(args: argparse.Namespace, console: Console) -> None:
    """Read, encode, and do the job."""
    check_folder(args.out, force=args.force)
    job = read_job(args, console)
    with limit_threads(args.jobs if args.jobs is None or args.jobs > 0 else None):
        run_job(job, args.out, console, force=args.force)


def read_job(args: argparse.Namespace, console: Console) -> Job:
    """The file as a job."""
    if args.compare is not None:
        return read_objects(args, console)
    refuse_object_options(args)
    from prismap.map._tables import prepare, unit_roles

    first, *also = args.target or [None]
    roles = Roles(
        first, args.ids, args.drop, show=args.show, use=args.use, matrix=args.rep, also=tuple(also), given=args.given,
        **unit_roles(args.groups, args.order),
    )  # fmt: skip
    check_names(args)
    cells = reader_of(args.file) == "cells"
    if args.rep is not None and not cells:
        raise InputError(f"--rep is for h5ad files; {args.file} has one matrix.")
    with console.stage(f"reading {args.file}"):
        table = read_table(args.file, roles, kind=args.data, sheet=args.sheet, skip_rows=args.skip_rows)
    data = args.data or table.kind or "vectors"
    if data not in DATA:
        raise InputError(f"{args.file} says it holds {data!r}; say --data {' or '.join(DATA)}.")
    shared_scale = cells or data == "cosine" or args.normalize is not None
    ready = prepare(
        table, roles, data=data, target_kind=args.target_kind, impute=args.impute, copies=args.copies or "auto",
        standardize=not shared_scale if args.standardize is None else args.standardize, normalize=args.normalize,
    )  # fmt: skip
    for note in ready.notes:
        if args.quick or note not in stated_notes(ready.dependence):
            console.note(note)
    return Job(
        X=ready.X,
        y=ready.y,
        encoding=ready.encoding,
        title=args.title or args.file.stem,
        quick=args.quick,
        budget=args.budget,
        given=ready.given,
        like=_earlier(args, console, table, ready.X),
        forecast=args.forecast,
        target_name=first or "target",
        options=_options(args, data, ready.target_kind),
        groups=ready.dependence,
        order=ready.order,
        ids=table.ids,
        columns=_shown_columns(table, ready.encoding),
        images=None if args.images is None else _images(table, args.images),
    )


def check_names(args: argparse.Namespace) -> None:
    """Whether the options name a method and a metric that there are, before a large file is read."""
    from sklearn.metrics.pairwise import PAIRWISE_DISTANCE_FUNCTIONS

    check_method(args.method)
    if args.metric is not None and args.metric not in PAIRWISE_DISTANCE_FUNCTIONS:
        usual = set(PAIRWISE_DISTANCE_FUNCTIONS) - {"precomputed", "nan_euclidean", "haversine"}
        options.refuse_unknown("--metric", args.metric, ("fisher", *sorted(usual)))


def check_method(name: str) -> None:
    """Refuse an embedding that there is not; methods of others are for `prismap compare`."""
    from prismap.cli.compare import METHODS as COMPARED
    from prismap.map._methods import METHODS

    beside = f" prismap compare --methods {name} makes such a map beside that of prismap." if name in COMPARED else ""
    options.refuse_unknown("--method", name, METHODS, beside)


def _options(args: argparse.Namespace, data: Any, target_kind: Any) -> dict[str, Any]:
    """The arguments of PrisMap that were given."""
    given = {
        "method": _method(args),
        "data": data,
        "target": target_kind,
        "supervision": args.supervision,
        "fit_rows": args.fit_rows,
        "metric": args.metric,
        "mapping": args.mapping,
        "perplexity": args.perplexity,
        "copies": args.copies,
        "random_state": args.seed,
    }
    return {name: value for name, value in given.items() if value is not None}


def _earlier(args: argparse.Namespace, console: Console, table: Table | None, rows: Any) -> Any:
    """Where the rows of a table lie on the map that the new one is to be like: by the encoding of that map."""
    if args.like is None:
        return None
    from prismap.map._held import placed_on

    earlier = load_model(args.like, console)
    if earlier.encoding_ is not None and table is not None:
        rows = earlier.encoding_.apply(table).X
    label = args.like.resolve().name if args.like.is_dir() else args.like.stem
    return placed_on(earlier, rows, None if table is None else table.given, label)


def _method(args: argparse.Namespace) -> Any:
    """The embedding by name, or as an object where it has a setting of its own."""
    if args.arrangement is None:
        return args.method
    if args.method != "tsne":
        raise InputError(f"--arrangement is for --method tsne; {args.method} has no such setting.")
    from prismap.embeddings import TSNE, GradientDescent

    descent = GradientDescent(arrangement=args.arrangement)
    return TSNE(perplexity=30 if args.perplexity is None else args.perplexity, descent=descent)


def _images(table: Table, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """Rows as pictures, the lowest value of the file black and the highest white; colours last."""
    numbers = [column for column in table.columns.values() if not isinstance(column, TextColumn)]
    if len(numbers) != math.prod(shape) or len(numbers) != len(table.columns):
        raise InputError(
            f"--images {'x'.join(map(str, shape))} needs {math.prod(shape)} columns of numbers and no other; the file "
            f"has {len(numbers)}, and {len(table.columns) - len(numbers)} of text, beside target and id."
        )
    pixels = np.column_stack(numbers)
    low, high = np.nanmin(pixels), np.nanmax(pixels)
    share = np.nan_to_num((pixels - low) / max(high - low, np.finfo(float).tiny))
    images: NDArray[np.uint8] = np.round(255 * share).astype(np.uint8).reshape(-1, *shape)
    return images if len(shape) == 2 or shape[2] == 3 else np.ascontiguousarray(np.moveaxis(images, 1, 3))


def _shown_columns(table: Table, encoding: TableEncoding) -> Mapping[str, NDArray[Any]]:
    """The columns as the map shows them; whole numbers that are not used, such as keys, with all their digits."""
    used = set(encoding.names)
    return {name: values if name in used else _digits(values) for name, values in encoding.shown(table).items()}


def _digits(column: NDArray[Any]) -> NDArray[Any]:
    if column.dtype.kind in "OM":
        return column
    if not (np.abs(column) < 2.0**53).all() or not np.array_equal(column, np.round(column)):
        return column
    return np.array([str(int(value)) for value in column], dtype=object)


# --- objects of a file, compared by name (--compare) ---


def add_object_options(parser: argparse.ArgumentParser) -> None:
    """How objects that are no rows of numbers become a map."""
    group = parser.add_argument_group("objects that are not vectors")
    group.add_argument(
        "--compare", metavar="NAME",
        help="compare the objects of a FASTA or JSON lines file, or of a column of text: edit, alignment, dtw, ...",
    )  # fmt: skip
    group.add_argument("--column", metavar="COL", help="column of text that holds the objects")
    group.add_argument("--labels", type=Path, metavar="FILE", help="table whose first two columns are names and labels")


def refuse_object_options(args: argparse.Namespace) -> None:
    """Options of objects mean nothing without a comparison."""
    if args.column is not None or args.labels is not None:
        raise InputError("--column and --labels are for objects: name their comparison with --compare.")


def read_objects(args: argparse.Namespace, console: Console) -> Job:
    """The file as a job."""
    from prismap.comparisons import Objects
    from prismap.comparisons._named import COMPARISONS

    if len(args.target or ()) > 1:
        raise InputError("objects take one target: --target names a single column.")
    if args.order is not None:
        raise InputError("--order is for rows of numbers: how long objects stay alike is not known. Use --groups.")
    options.refuse_unknown("--compare", args.compare, COMPARISONS)
    how = Objects(args.compare)
    with console.stage(f"reading {args.file}"):
        things = read_things(args)
        labels = things.labels if args.labels is None else read_labels(args.labels, things.names)
    y = None if labels is None or args.target_kind == "none" else target_of(labels)
    if y is None:
        console.note("the map has no target: it shows the objects alone (--labels names a file of labels)")
    missing = 0 if labels is None else sum(label is None for label in labels)
    if missing and y is not None:
        console.note(f"{missing} objects have no label; they are placed without one")
    return Job(
        X=things.objects,
        y=y,
        encoding=None,
        title=args.title or args.file.stem,
        quick=args.quick,
        budget=args.budget,
        target_name=(args.target or ["label"])[0],
        options=_options(args, how, "none" if y is None else args.target_kind),
        groups=groups_of_things(args),
        like=_earlier(args, console, None, things.objects),
        ids=np.array(things.names),
        about={} if args.column is None else {"objects": {"column": args.column, "ids": args.ids}},
    )


def read_things(args: argparse.Namespace) -> Any:
    """Sequences of a FASTA file, objects of JSON lines, or a column of text of any table."""
    from prismap.comparisons import text_column
    from prismap.comparisons._reading import FASTA, JSON, objects_reader

    if args.column is not None:
        roles = Roles((args.target or [None])[0], args.ids, text=(args.column,))
        return text_column(read_table(args.file, roles), args.column)
    reader = objects_reader(args.file)
    if reader is not None:
        return reader(args.file)
    raise InputError(
        f"--compare {args.compare} needs to know where the objects of {args.file} are: --column names a column of text "
        f"of a table ({', '.join(ENDINGS)}); FASTA files end in {' or '.join(FASTA[:2])}, JSON lines in {JSON[0]}."
    )


def groups_of_things(args: argparse.Namespace) -> Any:
    """The groups of objects that stand in a column of a table."""
    if args.groups in (None, "none"):
        return args.groups
    if args.column is None:
        raise InputError("--groups names a column of a table; the objects of this file are in none (see --column).")
    from prismap.map._tables import NamedColumn, unit_values

    roles = Roles((args.target or [None])[0], args.ids, text=(args.column,), groups=args.groups)
    return NamedColumn(unit_values(read_table(args.file, roles), args.groups, roles), args.groups)


def read_labels(path: Path, names: list[str]) -> list[Any]:
    """The label of each name by a table of both, None where it has none."""
    table = read_table(path, Roles())
    columns = list(table.columns)
    if len(columns) < 2:
        raise InputError(f"--labels {path} must have a column of names and a column of labels; got {len(columns)}.")
    first, second = (column_texts(table.columns[name]) for name in columns[:2])
    label = dict(zip((str(name) for name in first), second, strict=True))
    labels = [label.get(name) for name in names]
    if all(one is None for one in labels):
        raise InputError(
            f"--labels {path} names none of the objects: they are called {', '.join(names[:3])}, ... and its column "
            f"{columns[0]!r} holds {', '.join(str(name) for name in first[:3])}, ..."
        )
    return labels


def column_texts(column: Any) -> list[Any]:
    """Values of a column: text, or numbers, whole ones as such."""
    if isinstance(column, TextColumn):
        return list(column.values().tolist())
    return [None if v != v else int(v) if float(v).is_integer() else float(v) for v in column.tolist()]


def target_of(labels: list[Any]) -> NDArray[Any]:
    """Labels as an array; numbers stay numbers."""
    if all(isinstance(label, (int, float, np.number)) for label in labels):
        return np.array(labels)
    return np.array(labels, dtype=object)
