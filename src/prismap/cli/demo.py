"""`prismap demo`: the digits that come with scikit-learn, from rows to a page, offline."""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import Any

import numpy as np

from prismap.cli.console import Console
from prismap.cli.folder import check_folder
from prismap.cli.job import Job, run_job
from prismap.exceptions import InputError
from prismap.tables import Roles, Table, learn_encoding


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the sub-command."""
    parser = subparsers.add_parser(
        "demo", parents=[common], help="map the handwritten digits of scikit-learn as an example",
        description="Map the 1797 handwritten digits of scikit-learn, judge the map and write its page.",
    )  # fmt: skip
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        metavar="OUT",
        help="folder to write (default: prismap-demo, with --tables this folder)",
    )
    parser.add_argument(
        "--tables", action="store_true", help="only write flowers.csv and more.csv, to try the other commands"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, console: Console) -> None:
    """Fit and write; an earlier demo is replaced."""
    if args.tables:
        write_tables(args.out or Path(), console)
        return
    out = args.out or Path("prismap-demo")
    check_folder(out, force=True)
    run_job(digits_job(), out, console, force=True)


def write_tables(folder: Path, console: Console) -> None:
    """Fisher's irises: 120 flowers with their species to map, and 30 without to be placed."""
    from sklearn.datasets import load_iris

    iris = load_iris()
    names = [name.removesuffix(" (cm)").replace(" ", "_") for name in iris.feature_names]
    order = np.random.default_rng(0).permutation(len(iris.data))
    species = iris.target_names[iris.target][:, None]
    written = {}
    folder.mkdir(parents=True, exist_ok=True)
    for name, header, rows in (
        ("flowers.csv", [*names, "species"], np.hstack([iris.data, species])[order[:120]]),
        ("more.csv", names, iris.data[order[120:]]),
    ):
        path = folder / name
        if path.exists():
            raise InputError(f"{path} is there already: move it away, or go to another folder.")
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([header, *rows.tolist()])
        written[str(path)] = len(rows)
    console.result("\n".join(f"{name}: {n} rows" for name, n in written.items()), {"rows": written})


def digits_job() -> Job:
    """The digits as a job: grey values of 8 x 8 pixels, which share one scale and are not standardised."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    columns = dict(zip(digits.feature_names, digits.data.T, strict=True))
    encoding, _ = learn_encoding(Table(columns, len(digits.data)), roles=Roles(target="digit"), standardize=False)
    return Job(
        X=digits.data,
        y=digits.target,
        encoding=encoding,
        title="Handwritten digits",
        target_name="digit",
        options={"random_state": 0},
        columns=columns,
        images=(digits.images * 15.9375).astype(np.uint8),
    )
