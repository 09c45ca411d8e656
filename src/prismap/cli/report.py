"""`prismap report`: the verdict on a map that was made before."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from prismap.cli import options
from prismap.cli.console import Console
from prismap.cli.folder import MODEL, REPORT
from prismap.cli.job import judge_map, load_model
from prismap.exceptions import FileFormatError, InputError


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the sub-command."""
    parser = subparsers.add_parser(
        "report", parents=[common], help="print the verdict on a map", description="Print the verdict on a map."
    )
    parser.add_argument(
        "map", type=Path, metavar="MAP", help="folder of prismap map, its report.json or its model.prismap"
    )
    parser.add_argument(
        "--budget",
        type=options.budget,
        metavar="B",
        help="time for judging a map that has none: full (default), quick, or seconds",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, console: Console) -> None:
    """Print the report."""
    report = read_report(args.map, console, args.budget)
    console.result(str(report), report.to_dict())


def read_report(path: Path, console: Console, budget: Any = None) -> Any:
    """The report of a folder, of a report.json, or of a model."""
    if path.suffix == Path(MODEL).suffix and path.is_file():
        return judge_map(load_model(path, console), console, budget)
    path = path / REPORT if path.is_dir() else path
    if not path.is_file():
        raise InputError(f"there is no file {path}: name a folder written by prismap map, its {REPORT} or its {MODEL}.")
    from prismap.quality import MapReport

    try:
        return MapReport.from_dict(json.loads(path.read_bytes()))
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        what = str(error) if isinstance(error, InputError) else repr(error)
        raise FileFormatError(f"{path} holds no report that prismap wrote: {what}") from error
