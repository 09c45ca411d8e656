"""`prismap explore`: the live page of a map, on this machine only; a data file is fitted first, with progress in it."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from prismap.cli import options
from prismap.cli.console import Console, in_options
from prismap.cli.folder import MODEL
from prismap.cli.job import Job, fit_map, judge_map, load_model, map_page, verdict_page, with_notes
from prismap.cli.map import add_data_options, read_job
from prismap.exceptions import InputError

#: How far the bar is when a stage begins, and when the last has ended.
_READING, _FITTING, _DRAWING, _DONE = 0.0, 0.02, 0.95, 1.0


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the sub-command."""
    parser = subparsers.add_parser(
        "explore", parents=[common], help="open a map, or a new map of a data file, in the browser",
        description="Serve the page of a map on 127.0.0.1 until Ctrl-C. Drop a file on the page to project its rows. A "
        "data file is mapped first, while the page shows the progress. The options below are for data files.",
    )  # fmt: skip
    parser.add_argument("file", type=Path, metavar="OUT|FILE", help="folder written by prismap map, or a data file")
    parser.add_argument("--port", type=options.port, default=0, metavar="N", help="port (default: a free one)")
    parser.add_argument("--no-open", action="store_true", help="do not open the browser")
    add_data_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, console: Console) -> None:
    """Serve until interrupted."""
    if not args.file.exists():
        raise InputError(f"there is no folder or file {args.file}: name one written by prismap map, or a data file.")
    from prismap.page import serve

    folder = args.file if args.file.is_dir() else None
    serve(
        _fitted(args, console) if folder is None else _opened(folder, console),
        port=args.port,
        open_browser=not args.no_open,
        folder=folder,
        announce=lambda address: console.result(address, {"address": address}),
    )


def _opened(folder: Path, console: Console) -> Callable[..., Any]:
    """A folder: it is read here, so that an error ends the command; the model is loaded behind the page."""
    from prismap.page._folder import load_folder

    page = load_folder(folder)

    def make(progress: Callable[..., None]) -> Any:
        from prismap.page._live import live_compute

        if not (folder / MODEL).is_file():
            return page
        progress(0.5, "Loading the model …")
        try:
            return page, live_compute(load_model(folder, console), page)
        except InputError as error:
            console.note(f"the map is shown without its model: {error}")
            return replace(page, notes=(*page.notes, f"The map is shown without its model: {error}"))

    return make


def _fitted(args: argparse.Namespace, console: Console) -> Callable[..., Any]:
    """A data file: read here, so that a mistyped column is an error at once; fitted and judged behind the page."""
    job = read_job(args, console)

    def make(progress: Callable[..., None]) -> Any:
        watched = _Watched(console, progress)
        try:
            return _map_of(job, watched)
        except InputError as error:  # the page shows these words, and the terminal should, too
            words = in_options(str(error))
            console.say(f"prismap: {words}")
            raise InputError(words) from error

    return make


def _map_of(job: Job, console: _Watched) -> Any:
    """Page and abilities of a map made now."""
    from prismap.page._live import live_compute

    console.span = (_FITTING, _DRAWING)
    model = fit_map(job, console)
    console.span = (_DRAWING, _DONE)
    with console.stage("drawing"):
        page = map_page(job, model)

    def judged(progress: Callable[..., None]) -> Any:
        """The page with its verdict, while the map is already looked at."""
        watched = _Watched(console, progress)
        watched.span = (0.0, _DRAWING)
        judge_map(model, watched, job.budget)
        return with_notes(verdict_page(page, model), console)

    return with_notes(page, console), live_compute(model, page), None if job.quick else judged


class _Watched(Console):
    """A console that informs the page, too. `span` is the part of the bar that the stage takes."""

    def __init__(self, console: Console, progress: Callable[..., None]) -> None:
        super().__init__(quiet=console.quiet, as_json=console.as_json)
        self.notes = console.notes
        self.span = (_READING, _FITTING)
        self._progress = progress
        self._stage = ""

    @contextmanager
    def stage(self, what: str) -> Iterator[None]:
        """Say what is being done, here and there."""
        self._stage = what
        self._progress(self.span[0], f"{_capital(what)} …")
        with super().stage(what):
            yield

    def doing(self, what: str, share: float = 0.0) -> None:
        """How far it is, here and there; ends the work if the page was closed down."""
        begin, end = self.span
        self._progress(begin + (end - begin) * min(share, 1.0), f"{_capital(self._stage)}: {what}")
        super().doing(what, share)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
