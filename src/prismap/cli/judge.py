"""`prismap judge`: a verdict for coordinates that are in a file already."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap.cli import options
from prismap.cli.console import Console
from prismap.cli.folder import check_folder
from prismap.cli.verdicts import JudgedMap, add_table_options, read_rows, read_together, write_verdicts
from prismap.exceptions import InputError
from prismap.tables import Table, TextColumn


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the sub-command."""
    parser = subparsers.add_parser(
        "judge", parents=[common], help="judge maps whose coordinates are columns of a file",
        description="Judge existing maps. Pairs of columns of DATA hold coordinates, and the others the data.",
    )  # fmt: skip
    add_table_options(parser)
    parser.add_argument("--target", metavar="COL", help="what the map should show (npz: y)")
    parser.add_argument(
        "--x", type=options.names, required=True, metavar="COLS", help="first coordinates, one per map: umap_1,tsne_1"
    )
    parser.add_argument(
        "--y", type=options.names, required=True, metavar="COLS", help="second coordinates, in the same order"
    )
    parser.add_argument(
        "--clustered", action="store_true",
        help="the target was found by clustering these data: report how much of its separation that explains",
    )  # fmt: skip
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, console: Console) -> None:
    """Read, judge every pair of columns, write."""
    check_folder(args.out, force=args.force)
    if len(args.x) != len(args.y):
        raise InputError(f"--x names {len(args.x)} columns and --y {len(args.y)}: each map needs one of each.")
    table, X = read_rows(args, console, apart=(*args.x, *args.y))
    from prismap.judging import judge

    maps = []
    for x, y in zip(args.x, args.y, strict=True):
        positions = coordinates(table, x, y)
        with console.stage(f"judging {x} and {y}"):
            report = judge(
                X, positions, table.target, target=args.task, random_state=args.seed,
                labels_from="clustering" if args.clustered else None,
            )  # fmt: skip
        maps.append(JudgedMap(f"{x}, {y}", positions, report))
    write_verdicts(read_together(maps), table, X, args, console)


def coordinates(table: Table, x: str, y: str) -> NDArray[np.float64]:
    """Two columns as positions."""
    for name in (x, y):
        column = table.columns[name]
        if isinstance(column, TextColumn):
            raise InputError(f"the column {name!r} holds text; --x and --y name columns of coordinates.")
        missing = int((~np.isfinite(np.asarray(column, dtype=np.float64))).sum())
        if missing:
            raise InputError(f"the column {name!r} has no coordinate in {missing} of {table.n_rows} rows.")
    return np.column_stack([np.asarray(table.columns[name], dtype=np.float64) for name in (x, y)])
