"""`prismap apply`: new rows on a map that exists, batch by batch."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap.bundle import map_writer
from prismap.cli.console import Console
from prismap.cli.job import load_model
from prismap.exceptions import InputError
from prismap.tables import Table, encoding_of, read_batches

#: Rows placed at a time: few enough to show progress, many enough to be quick.
BATCH_ROWS = 10_000


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the sub-command."""
    parser = subparsers.add_parser(
        "apply", parents=[common], help="place new rows on a map",
        description="Place the rows of DATA on the map of MODEL; rows far from all it has seen are marked.",
    )  # fmt: skip
    parser.add_argument("model", type=Path, metavar="MODEL", help="model.prismap, or the folder that holds it")
    parser.add_argument("data", type=Path, metavar="DATA", help="file with the columns the map was made of")
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="OUT", help="file to write: parquet or csv")
    parser.add_argument("--force", action="store_true", help="replace OUT if it is there")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, console: Console) -> None:
    """Load the map, place the rows, write them."""
    _check_out(args)
    model = load_model(args.model, console)
    encoding = encoding_of(model)
    n_rows = n_far = 0
    filled: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    strangers: set[str] = set()
    with console.stage(f"placing the rows of {args.data}"), map_writer(args.out) as write:
        for batch in read_batches(args.data, encoding.names, encoding.roles, kind=model.data, n_rows=BATCH_ROWS):
            encoded = encoding.apply(batch)
            positions, far = model.place(encoded.X)
            write(_map_rows(positions, far, batch, n_rows))
            n_rows += batch.n_rows
            n_far += int(far.sum())
            filled.update(encoded.filled)
            unknown.update(encoded.unknown)
            strangers |= _unknown_classes(model, batch)
            console.doing(f"{n_rows} rows placed")
        if not n_rows:
            raise InputError(f"{args.data} has no rows.")
    _say(console, filled, unknown, strangers)
    console.result(
        f"{n_rows} rows placed, {n_far} of them far from all rows of the map: {args.out}",
        {"out": str(args.out), "rows": n_rows, "far": n_far, "filled": filled, "unknown": unknown},
    )


def _check_out(args: argparse.Namespace) -> None:
    if args.out.suffix.lower() not in (".parquet", ".csv"):
        raise InputError(f"-o must name a .parquet or .csv file; got {args.out}.")
    if args.out.exists() and not args.force:
        raise InputError(f"{args.out} is there already: --force replaces it.")
    if args.out.exists() and any(path.exists() and args.out.samefile(path) for path in (args.data, args.model)):
        raise InputError(f"{args.out} is one of the files to read; name another.")


def _map_rows(Y: NDArray[np.float64], far: NDArray[np.bool_], batch: Table, start: int) -> dict[str, NDArray[Any]]:
    columns = {
        "id": np.arange(start, start + batch.n_rows) if batch.ids is None else batch.ids,
        "x": Y[:, 0],
        "y": Y[:, 1],
        "split": np.full(batch.n_rows, "new"),
        "far": far,
    }
    if batch.target is not None:
        columns["target"] = batch.target
    return columns


def _unknown_classes(model: Any, batch: Table) -> set[str]:
    """Classes of new rows that the map was not fitted with."""
    known = getattr(model, "classes_", None)
    if known is None or batch.target is None:
        return set()
    found = {str(value) for value in set(batch.target.tolist()) if value is not None and value == value}
    return found - {str(value) for value in known}


def _say(console: Console, filled: Mapping[str, int], unknown: Mapping[str, int], strangers: set[str]) -> None:
    for name, count in filled.items():
        console.note(f"{count} missing values of {name!r} were filled as at the fit")
    for name, count in unknown.items():
        console.note(
            f"{count} rows have a level of {name!r} that the map has not seen; they count as none of its levels"
        )
    if strangers:
        console.note(f"classes the map was not fitted with: {', '.join(sorted(strangers)[:8])}")
