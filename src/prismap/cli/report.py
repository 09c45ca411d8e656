"""`prismap report`: the verdict on a map that was made before."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from prismap.bundle._json import parse_json, reason_of, unsealed
from prismap.cli import options
from prismap.cli.console import Console, in_options
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
        help="time for judging a map that has none: full (default), quick, seconds, or a time such as '5 min'",
    )
    parser.add_argument("--details", action="store_true", help="print all statements and all figures")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, console: Console) -> None:
    """Print the report."""
    report = read_report(args.map, console, args.budget)
    text = report.details if args.details else report.summary(f"prismap report {args.map} --details")
    console.result(in_options(text), report.to_dict())


def read_report(path: Path, console: Console, budget: Any = None) -> Any:
    """The report of a folder, of a report.json, or of a model."""
    if path.suffix == Path(MODEL).suffix and path.is_file():
        return judge_map(load_model(path, console), console, budget)
    folder, path = path, path / REPORT if path.is_dir() else path
    if folder.is_dir() and not path.exists() and (folder / MODEL).is_file():
        console.note(f"the map in {folder} was not judged when it was made (--quick): it is judged now")
        return judge_map(load_model(folder / MODEL, console), console, budget)
    if not path.is_file():
        raise InputError(f"there is no file {path}: name a folder written by prismap map, its {REPORT} or its {MODEL}.")
    from prismap.quality import MapReport

    try:
        return MapReport.from_dict(unsealed(parse_json(path.read_bytes())))
    except (ValueError, OSError, RecursionError, MemoryError) as error:
        refusal = FileFormatError(f"{path} holds no report that prismap wrote: {reason_of(error)}")
        if not (folder / MODEL).is_file():
            raise refusal from error
        console.note(f"{refusal}; the report comes from {MODEL}.")
        return judge_map(load_model(folder / MODEL, console), console, budget)
