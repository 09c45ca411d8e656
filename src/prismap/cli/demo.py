"""`prismap demo`: the digits that come with scikit-learn, from rows to a page, offline."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from prismap.cli.console import Console
from prismap.cli.folder import check_folder
from prismap.cli.job import Job, run_job
from prismap.tables import Roles, Table, learn_encoding


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the sub-command."""
    parser = subparsers.add_parser(
        "demo", parents=[common], help="map handwritten digits, as an example",
        description="Map the 1797 handwritten digits of scikit-learn: fit, report, page. Needs no network.",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--out", type=Path, default=Path("prismap-demo"), metavar="OUT", help="folder to write (./prismap-demo)"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, console: Console) -> None:
    """Fit and write; an earlier demo is replaced."""
    check_folder(args.out, force=True)
    run_job(digits_job(), args.out, console)


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
