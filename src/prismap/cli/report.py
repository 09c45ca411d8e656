"""`prismap report`: the verdict on a map that was made before."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from prismap.cli.console import Console
from prismap.cli.folder import REPORT
from prismap.exceptions import FileFormatError, InputError


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the sub-command."""
    parser = subparsers.add_parser(
        "report", parents=[common], help="print the verdict on a map", description="Print the verdict on a map."
    )
    parser.add_argument("map", type=Path, metavar="MAP", help="folder written by prismap map, or its report.json")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, console: Console) -> None:
    """Print the report."""
    document = read_report(args.map)
    from prismap.quality import MapReport

    try:
        text = str(MapReport.from_dict(document))
    except InputError as error:
        raise FileFormatError(f"{args.map}: {error}") from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FileFormatError(f"{args.map} holds no report that prismap wrote ({error!r}).") from error
    console.result(text, document)


def read_report(path: Path) -> dict[str, Any]:
    """The report of a folder, or a report.json, as a dictionary."""
    if path.is_dir():
        path = path / REPORT
    if not path.is_file():
        raise InputError(f"there is no file {path}: name a folder written by prismap map, or its {REPORT}.")
    try:
        document = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{path} is not a report: {error}.") from error
    if not isinstance(document, dict):
        raise FileFormatError(f"{path} is not a report: it holds no JSON object.")
    return document
