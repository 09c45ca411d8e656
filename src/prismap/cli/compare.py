"""`prismap compare`: maps of one file by several methods, and one table of verdicts."""

from __future__ import annotations

import argparse
import importlib.util
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from prismap.cli import options
from prismap.cli.console import Console
from prismap.cli.folder import check_folder
from prismap.cli.methods import METHODS
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
from prismap.tables import Table

if TYPE_CHECKING:  # --help does not need it
    from prismap.target import Target


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the sub-command."""
    parser = subparsers.add_parser(
        "compare", parents=[common], help="make maps of a file by several methods, and judge them alike",
        description="Make maps of DATA by several methods and judge them alike.",
    )  # fmt: skip
    add_table_options(parser)
    parser.add_argument("--target", metavar="COL", required=True, help="what the maps should show (npz: y)")
    parser.add_argument(
        "--methods", type=options.names, default=("prismap", "tsne", "pca", "lda"), metavar="NAMES",
        help=f"some of {', '.join(METHODS)} (default: prismap,tsne,pca,lda)",
    )  # fmt: skip
    parser.add_argument(
        "--budget", type=options.budget, default="full", metavar="B",
        help="time for judging: full (default), quick, a number of seconds per method, or a time such as '5 min'",
    )  # fmt: skip
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, console: Console) -> None:
    """Read, make and judge every map, write."""
    check_folder(args.out, force=args.force)
    chosen = installed(args.methods, console)
    table, X = read_rows(args, console)
    if table.target is None:
        raise InputError("prismap compare needs a target: --target names its column.")
    target = checked_target(table, X, args)
    if not target.exists:
        raise InputError("prismap compare needs a target; --target-kind none ignores it.")
    units = units_of(table, X, target, args, console)
    maps = []
    for name in chosen:
        if METHODS[name].needs_classes and target.classes is None:
            console.note(f"{name} was left out: it needs classes as its target")
            continue
        try:
            maps.append(map_by(name, table, X, target, units, args, console))
        except (InputError, MemoryError):
            raise
        except Exception as error:
            if not METHODS[name].modules:
                raise
            # The package of others may refuse these rows in any way; the maps of the other methods are not lost.
            console.note(f"{name} was left out, because it failed: {type(error).__name__}: {error}")
    if not maps:
        raise InputError("no method is left to compare.")
    write_verdicts(read_together(maps), table, X, args, console)


def map_by(
    name: str, table: Table, X: NDArray[np.float64], target: Target, units: Any, args: argparse.Namespace,
    console: Console,
) -> JudgedMap:  # fmt: skip
    """The map by a method, and its report."""
    from prismap.judging import judge_and_map

    def follow(done: int, total: int) -> None:
        console.doing(f"{name}: {done} of {total} maps for comparison", done / max(total, 1))

    with console.stage(f"making and judging {name}"):
        report, positions = judge_and_map(
            METHODS[name].make(args.seed), X, target, supervised=METHODS[name].supervised, groups=units,
            given=levels_of(table, args), random_state=args.seed, budget=args.budget, callback=follow,
        )  # fmt: skip
    return JudgedMap(name, positions, report)


def installed(names: tuple[str, ...], console: Console) -> list[str]:
    """The methods whose package is installed; the others are noted with the line that installs them."""
    for name in names:
        options.refuse_unknown("--methods", name, METHODS)
    missing = [name for name in names if not all(importlib.util.find_spec(module) for module in METHODS[name].modules)]
    for name in missing:
        console.note(f"{name} was left out, because its package is not installed: {METHODS[name].install}")
    left = [name for name in dict.fromkeys(names) if name not in missing]
    if not left:
        lines = dict.fromkeys(METHODS[name].install for name in missing)
        raise InputError(f"none of these methods is installed: {', '.join(lines)}.")
    return left
