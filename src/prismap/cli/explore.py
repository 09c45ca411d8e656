"""`prismap explore`: the live page of a map, on this machine only."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from prismap.cli import options
from prismap.cli.console import Console
from prismap.cli.folder import MODEL
from prismap.cli.job import load_model
from prismap.exceptions import InputError


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the sub-command."""
    parser = subparsers.add_parser(
        "explore", parents=[common], help="look at a map in the browser",
        description="Serve the page of a map on 127.0.0.1 until Ctrl-C; new files can be dropped on it.",
    )  # fmt: skip
    parser.add_argument("map", type=Path, metavar="OUT", help="folder written by prismap map")
    parser.add_argument("--port", type=options.port, default=0, metavar="N", help="port (default: a free one)")
    parser.add_argument("--no-open", action="store_true", help="do not open the browser")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, console: Console) -> None:
    """Serve until interrupted."""
    if not args.map.is_dir():
        raise InputError(f"there is no folder {args.map}: name one written by prismap map.")
    from prismap.explorer import serve
    from prismap.explorer.folder import load_folder
    from prismap.map.live import live_compute

    page = load_folder(args.map)
    compute = live_compute(load_model(args.map, console), page) if (args.map / MODEL).is_file() else None
    serve(
        args.map,
        port=args.port,
        open_browser=not args.no_open,
        compute=compute,
        announce=lambda address: console.result(address, {"address": address}),
    )
