"""`prismap judge`: a verdict for coordinates that are in a file already."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap.cli import options
from prismap.cli.console import Console
from prismap.cli.folder import check_folder
from prismap.cli.verdicts import (
    JudgedMap,
    add_table_options,
    checked_target,
    levels_of,
    read_rows,
    read_together,
    units_of,
    write_verdicts,
)
from prismap.exceptions import InputError
from prismap.tables import Table, TextColumn, read_obsm, reader_of
from prismap.tables._encoding import is_number


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the sub-command."""
    parser = subparsers.add_parser(
        "judge", parents=[common], help="judge maps whose coordinates are in a file",
        description="Judge existing maps. Pairs of columns of DATA, or entries of obsm in an h5ad file, hold "
        "coordinates, and the other columns, X or --rep the data.",
    )  # fmt: skip
    add_table_options(parser)
    parser.add_argument("--target", metavar="COL", help="what the map should show (npz: y)")
    parser.add_argument(
        "--x", type=options.names, default=(), metavar="COLS", help="first coordinates, one per map: umap_1,tsne_1"
    )
    parser.add_argument(
        "--y", type=options.names, default=(), metavar="COLS", help="second coordinates, in the same order"
    )
    parser.add_argument(
        "--obsm", type=options.names, default=(), metavar="KEYS",
        help="for h5ad files: entries of obsm that hold coordinates, one per map: X_umap,X_tsne",
    )  # fmt: skip
    parser.add_argument(
        "--clustered", action="store_true",
        help="the target was found by clustering these data: report how much of its separation that explains",
    )  # fmt: skip
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, console: Console) -> None:
    """Read, judge every map, write."""
    check_folder(args.out, force=args.force)
    check_names(args)
    table, X = read_rows(args, console, apart=(*args.x, *args.y))
    planes = {f"{x}, {y}": columns(table, x, y) for x, y in zip(args.x, args.y, strict=True)}
    if args.obsm:
        planes |= {key: plane(key, values, console) for key, values in read_obsm(args.data, args.obsm).items()}
    target = checked_target(table, X, args)
    if args.clustered and not target.n_classes:
        raise InputError("--clustered is for classes that a clustering made, and --target names none.")
    if args.given is not None and not target.exists:
        raise InputError(
            f"--given {args.given} asks what a map shows of a target inside levels: name it with --target."
        )
    from prismap.judging import judge

    units = units_of(table, X, target, args, console)
    maps = []
    for name, positions in planes.items():
        with console.stage(f"judging {name}"):
            report = judge(
                X, positions, target, groups=units, given=levels_of(table, args), random_state=args.seed,
                labels_from="clustering" if args.clustered else None,
            )  # fmt: skip
        maps.append(JudgedMap(name, positions, report))
    write_verdicts(read_together(maps), table, X, args, console)


def check_names(args: argparse.Namespace) -> None:
    """Whether the options name maps, before a large file is read."""
    if len(args.x) != len(args.y):
        raise InputError(f"--x names {len(args.x)} columns and --y {len(args.y)}: each map needs one of each.")
    for x, y in zip(args.x, args.y, strict=True):
        if x == y:
            raise InputError(f"--x and --y both name {x!r}: a map needs two columns.")
    labels = [name for name in (*args.x, *args.y) if name in (args.target, args.ids, args.given, *args.drop)]
    if labels:
        raise InputError(
            f"--x or --y names {labels[0]!r}, and so does --target, --id, --given or --drop: name it once."
        )
    cells = reader_of(args.data) == "cells"
    if not args.x and not args.obsm:
        raise InputError(
            "no coordinates are named: --x and --y name their columns"
            f"{', or --obsm an entry of obsm, such as X_umap' if cells else ''}."
        )
    if args.obsm and not cells:
        raise InputError(f"--obsm is for h5ad files; name columns of {args.data} with --x and --y.")
    if args.rep in args.obsm:
        raise InputError(f"--obsm and --rep both name {args.rep!r}: a map is judged against the data it was made from.")


def columns(table: Table, x: str, y: str) -> NDArray[np.float64]:
    """Two columns as positions."""
    for name in (x, y):
        column = table.columns[name]
        if isinstance(column, TextColumn):
            word = next((level for level in column.levels if not is_number(level)), column.levels[0])
            raise InputError(
                f"the column {name!r} holds text, such as {word!r}; --x and --y name columns of coordinates."
            )
        refuse_missing(f"the column {name!r}", np.asarray(table.columns[name], dtype=np.float64)[:, None])
    return refuse_one_place(
        f"{x!r} and {y!r}", np.column_stack([np.asarray(table.columns[name], dtype=np.float64) for name in (x, y)])
    )


def plane(key: str, values: NDArray[np.float64], console: Console) -> NDArray[np.float64]:
    """An entry of `obsm` as positions: its first two columns, which are what is drawn of it."""
    if values.ndim != 2 or values.shape[1] < 2:
        raise InputError(f"obsm {key!r} has the shape {values.shape}; a map has two columns.")
    if values.shape[1] > 2:
        console.note(f"obsm {key!r} has {values.shape[1]} columns; the first two are judged")
    refuse_missing(f"obsm {key!r}", values[:, :2])
    return refuse_one_place(f"obsm {key!r}", values[:, :2])


def refuse_missing(name: str, values: NDArray[np.float64]) -> None:
    """A row without coordinates is not on the map."""
    missing = int((~np.isfinite(values)).any(axis=1).sum())
    if missing:
        raise InputError(f"{name} has no coordinate in {missing} of {len(values)} rows: leave these rows out.")


def refuse_one_place(name: str, positions: NDArray[np.float64]) -> NDArray[np.float64]:
    """The positions, unless all are the same."""
    if (np.ptp(positions, axis=0) == 0).all():
        raise InputError(f"{name} put all {len(positions)} rows in one place: that is no map.")
    return positions
