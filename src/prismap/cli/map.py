"""`prismap map`: a file in, a folder with the map, its model, report, page and picture out."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap._threads import limit_threads
from prismap.cli import options
from prismap.cli.console import Console
from prismap.cli.folder import check_folder
from prismap.cli.job import Job, run_job
from prismap.cli.objects import add_object_options, read_objects, refuse_object_options
from prismap.exceptions import InputError
from prismap.tables import Roles, Table, TableEncoding, TextColumn, read_table, reader_of

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
    columns.add_argument(
        "--target", action="append", metavar="COL",
        help="column that the map is about. Empty cells are rows without a label (npz: y). Repeat it for more targets",
    )  # fmt: skip
    options.add_columns(columns)
    columns.add_argument("--data", choices=DATA, help="what the columns hold (default: vectors)")
    columns.add_argument(
        "--standardize", action=argparse.BooleanOptionalAction,
        help="bring every column to mean 0 and variance 1 (default, except with --data cosine and for cells)",
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
        help="time for judging: full (default, about twice the time of the fit), quick (half of it), or seconds",
    )  # fmt: skip
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
        return read_objects(args, console, args.target_kind, _options)
    refuse_object_options(args)
    from prismap.map.tables import prepare

    first, *also = args.target or [None]
    roles = Roles(first, args.ids, args.drop, show=args.show, use=args.use, matrix=args.rep, also=tuple(also))
    cells = reader_of(args.file) == "cells"
    if args.rep is not None and not cells:
        raise InputError(f"--rep is for h5ad files; {args.file} has one matrix.")
    with console.stage(f"reading {args.file}"):
        table = read_table(args.file, roles, kind=args.data)
    data = args.data or table.kind or "vectors"
    if data not in DATA:
        raise InputError(f"{args.file} says it holds {data!r}; say --data {' or '.join(DATA)}.")
    standardize = not cells and data != "cosine" if args.standardize is None else args.standardize
    ready = prepare(table, roles, data=data, target_kind=args.target_kind, standardize=standardize, impute=args.impute)
    for note in ready.notes:
        console.note(note)
    return Job(
        X=ready.X,
        y=ready.y,
        encoding=ready.encoding,
        title=args.title or args.file.stem,
        quick=args.quick,
        budget=args.budget,
        target_name=first or "target",
        options=_options(args, data, ready.target_kind),
        ids=table.ids,
        columns=_shown_columns(table, ready.encoding),
        images=None if args.images is None else _images(table, args.images),
    )


def _options(args: argparse.Namespace, data: Any, target_kind: Any) -> dict[str, Any]:
    """The arguments of PrisMap that were given."""
    given = {
        "method": args.method,
        "data": data,
        "target": target_kind,
        "supervision": args.supervision,
        "fit_rows": args.fit_rows,
        "metric": args.metric,
        "mapping": args.mapping,
        "perplexity": args.perplexity,
        "random_state": args.seed,
    }
    return {name: value for name, value in given.items() if value is not None}


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
    if column.dtype.kind == "O" or not (np.abs(column) < 2.0**53).all() or not np.array_equal(column, np.round(column)):
        return column
    return np.array([str(int(value)) for value in column], dtype=object)
