"""`prismap map`: a file in, a folder with the map, its model, report, page and picture out."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap._threads import limit_threads
from prismap.cli import options
from prismap.cli.console import Console
from prismap.cli.folder import check_folder
from prismap.cli.job import Job, run_job
from prismap.exceptions import InputError
from prismap.tables import Roles, Table, TableEncoding, TextColumn, learn_encoding, read_table

KINDS = ("vectors", "similarity", "dissimilarity")

#: Mappings of `PrisMap` by name; "own" has no name for files.
MAPPINGS = ("auto", "fisher", "euclidean", "svr", "cost", "elm", "direct", "vote")


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the sub-command."""
    parser = subparsers.add_parser(
        "map", parents=[common], help="make a map of a data file",
        description="Make a map of DATA (csv, tsv, jsonl, xlsx, parquet, arrow, npz, npy) and write it to a folder.",
    )  # fmt: skip
    parser.add_argument("data", type=Path, metavar="DATA", help="file with a row for each thing to be mapped")
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="OUT", help="folder to write")
    parser.add_argument("--force", action="store_true", help="replace the map that OUT holds")
    add_data_options(parser)
    parser.set_defaults(run=run)


def add_data_options(parser: argparse.ArgumentParser) -> None:
    """How a data file becomes a map: `read_job` reads these."""
    parser.add_argument("--title", help="title of the page and the picture (default: the name of the file)")
    columns = parser.add_argument_group("columns")
    columns.add_argument("--target", metavar="COL", help="what the map is about; empty where unknown (npz: y)")
    columns.add_argument("--id", dest="ids", metavar="COL", help="column that names the rows")
    columns.add_argument("--drop", type=options.names, default=(), metavar="COLS", help="columns to leave out: a,b,c")
    columns.add_argument("--show", type=options.names, default=(), metavar="COLS", help="columns to show, not to use")
    columns.add_argument(
        "--use", type=options.names, default=(), metavar="COLS",
        help="columns to use though they look like ids, dates or free text",
    )  # fmt: skip
    columns.add_argument("--kind", choices=KINDS, help="what the columns hold (default: vectors)")
    columns.add_argument(
        "--standardize", action=argparse.BooleanOptionalAction, default=True,
        help="bring every column to mean 0 and variance 1 (default; vectors only)",
    )  # fmt: skip
    columns.add_argument("--impute", choices=("median",), help="fill missing values (default: refuse them)")
    columns.add_argument(
        "--images", type=options.shape, metavar="HxW",
        help="rows are grey images of H rows of W pixels: the page shows them",
    )  # fmt: skip
    fit = parser.add_argument_group("map")
    fit.add_argument("--method", default="tsne", help="how rows become positions (default: tsne)")
    fit.add_argument("--task", choices=("auto", "class", "real", "none"), default="auto", help="kind of target")
    fit.add_argument(
        "--supervision",
        type=options.supervision,
        metavar="W",
        help="weight of the target from 0 to 1, auto (the least that the evidence asks for, default) or max",
    )
    fit.add_argument("--metric", metavar="NAME", help="distances of the map (default: fisher): manhattan, cosine, ...")
    fit.add_argument(
        "--mapping",
        choices=MAPPINGS,
        help="how new rows are placed (default: auto, kernels on Fisher distances or votes by evidence)",
    )
    fit.add_argument("--fit-rows", type=options.rows, metavar="N", help="rows to fit; the others are placed by the map")
    fit.add_argument("--perplexity", type=options.from_one, metavar="P", help="effective number of neighbours")
    fit.add_argument("--seed", type=options.seed, default=0, metavar="N", help="random seed (default: 0)")
    fit.add_argument("--jobs", type=int, metavar="N", help="processor cores to use; -1: all")


def run(args: argparse.Namespace, console: Console) -> None:
    """Read, encode, and do the job."""
    check_folder(args.out, force=args.force)
    job = read_job(args, console)
    with limit_threads(args.jobs if args.jobs is None or args.jobs > 0 else None):
        run_job(job, args.out, console, force=args.force)


def read_job(args: argparse.Namespace, console: Console) -> Job:
    """The file as a job."""
    roles = Roles(args.target, args.ids, args.drop, show=args.show, use=args.use)
    with console.stage(f"reading {args.data}"):
        table = read_table(args.data, roles, kind=args.kind)
    kind = args.kind or table.kind or "vectors"
    if kind not in KINDS:
        raise InputError(f"{args.data} says it holds {kind!r}; say --kind {' or '.join(KINDS)}.")
    for note in table.notes:
        console.note(note)
    encoding = _encode(table, roles, kind, args, console)
    X = encoding.apply(table).X
    y, task = _target(table, X, kind, args, console)
    return Job(
        X=X,
        y=y,
        encoding=encoding,
        title=args.title or args.data.stem,
        target_name=args.target or "target",
        options=_options(args, kind, task),
        ids=table.ids,
        columns=_shown_columns(table, encoding),
        images=None if args.images is None else _images(table, args.images),
    )


def _encode(table: Table, roles: Roles, kind: str, args: argparse.Namespace, console: Console) -> TableEncoding:
    if kind == "vectors":
        encoding, notes = learn_encoding(table, roles=roles, standardize=args.standardize, impute=args.impute)
        for note in notes:
            console.note(note)
        return encoding
    text = [name for name, column in table.columns.items() if isinstance(column, TextColumn)]
    if text:
        raise InputError(f"--kind {kind} needs numbers only; {text[0]!r} is text: --target, --id or --drop it.")
    if len(table.columns) != table.n_rows:
        raise InputError(
            f"--kind {kind} needs as many columns as rows; got {table.n_rows} rows and {len(table.columns)} columns "
            "beside target and id."
        )
    encoding, _ = learn_encoding(table, roles=replace(roles, use=tuple(table.columns)), standardize=False)
    return encoding


def _target(
    table: Table, X: NDArray[np.float64], kind: str, args: argparse.Namespace, console: Console
) -> tuple[NDArray[Any] | None, str]:
    """The target and what it is taken for; (None, "none") if there is none or none is wanted."""
    if args.task == "none" and table.target is not None:
        console.note("the target was left out (--task none): the map shows the data alone")
        return None, "none"
    if table.target is None:
        console.note("the map has no target: it shows the data alone (--target names the column it should be about)")
        return None, "none"
    missing = np.array([value is None or value != value for value in table.target.tolist()])
    if missing.all():
        raise InputError(f"the target column {args.target!r} is empty.")
    if missing.any():
        console.note(f"{int(missing.sum())} rows have no target; they are placed without one")
    if args.task != "auto":
        return table.target, args.task
    from prismap.metrics.target import decide_target

    decision = decide_target(table.target, X, kind)
    if table.target.dtype.kind != "O":
        console.note(str(decision))
    return table.target, decision.kind


def _options(args: argparse.Namespace, kind: str, task: str) -> dict[str, Any]:
    """The arguments of PrisMap that were given."""
    given = {
        "method": args.method,
        "data": kind,
        "target": task,
        "supervision": args.supervision,
        "fit_rows": args.fit_rows,
        "metric": args.metric,
        "mapping": args.mapping,
        "perplexity": args.perplexity,
        "random_state": args.seed,
    }
    return {name: value for name, value in given.items() if value is not None}


def _images(table: Table, shape: tuple[int, int]) -> NDArray[np.uint8]:
    """Rows as pictures, the lowest value of the file black and the highest white."""
    numbers = [column for column in table.columns.values() if not isinstance(column, TextColumn)]
    if len(numbers) != shape[0] * shape[1] or len(numbers) != len(table.columns):
        raise InputError(
            f"--images {shape[0]}x{shape[1]} needs {shape[0] * shape[1]} columns of numbers and no other; the file has "
            f"{len(numbers)}, and {len(table.columns) - len(numbers)} of text, beside target and id."
        )
    pixels = np.column_stack(numbers)
    low, high = np.nanmin(pixels), np.nanmax(pixels)
    grey = np.nan_to_num((pixels - low) / max(high - low, np.finfo(float).tiny))
    images: NDArray[np.uint8] = np.round(255 * grey).astype(np.uint8).reshape(-1, *shape)
    return images


def _shown_columns(table: Table, encoding: TableEncoding) -> Mapping[str, NDArray[Any]]:
    """The columns as the file has them; whole numbers that are not used, such as keys, with all their digits."""
    used = set(encoding.names)
    return {
        name: column.values() if isinstance(column, TextColumn) else column if name in used else _digits(column)
        for name, column in table.columns.items()
    }


def _digits(column: NDArray[Any]) -> NDArray[Any]:
    if not (np.abs(column) < 2.0**53).all() or not np.array_equal(column, np.round(column)):
        return column
    return np.array([str(int(value)) for value in column], dtype=object)
