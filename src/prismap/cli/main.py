"""The command `prismap`: arguments in, exit code out.

0 done; 2 the user's input is wrong (one line on stderr); 1 anything else; 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from prismap._version import __version__
from prismap.cli import apply, compare, demo, explore, judge, map, relevance, report, view
from prismap.cli.console import Console, in_options, visible
from prismap.exceptions import InputError, MissingExtraError, PrismapWarning

COMMANDS = (demo, map, apply, view, judge, compare, relevance, report, explore)


class Parser(argparse.ArgumentParser):
    """argparse whose errors are `InputError`, without a page of usage."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message} (see {self.prog} --help)")


def build_parser() -> Parser:
    """The parser with every sub-command."""
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--quiet", action="store_true", help="print only the result and errors")
    common.add_argument("--json", action="store_true", help="print the result as JSON")
    parser = Parser(prog="prismap", description="Maps of high-dimensional data that show what matters for a target.")
    parser.add_argument("--version", action="version", version=f"prismap {__version__}")
    subparsers = parser.add_subparsers(metavar="COMMAND", parser_class=Parser)
    for command in COMMANDS:
        command.register(subparsers, common)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    try:
        args = build_parser().parse_args(argv)
    except InputError as error:
        return _complain(error)
    except SystemExit as stop:  # --help and --version
        return int(stop.code or 0)
    if not hasattr(args, "run"):
        build_parser().print_help()
        return 0
    console = Console(quiet=args.quiet, as_json=args.json)
    try:
        with _warnings_as_notes(console), _terminated_like_interrupted():
            args.run(args, console)
    except InputError as error:
        console.clear()
        return _complain(error)
    except KeyboardInterrupt:
        console.clear()
        sys.stderr.write("prismap: stopped\n")
        return 130
    except BrokenPipeError:  # the reader of our output went away
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (MissingExtraError, OSError, MemoryError) as error:
        console.clear()
        sys.stderr.write(f"prismap: {visible(str(error)) or 'there is not enough memory'}\n")
        return 1
    except Exception:
        console.clear()
        traceback.print_exc()
        sys.stderr.write("prismap: this should not have happened; please report it with the lines above\n")
        return 1
    return 0


def _complain(error: InputError) -> int:
    sys.stderr.write(f"prismap: {visible(in_options(str(error)))}\n")
    return 2


@contextmanager
def _warnings_as_notes(console: Console) -> Iterator[None]:
    """Our own warnings become notes, each once; those of other packages stay warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", PrismapWarning)
        show = warnings.showwarning

        def showwarning(message: Any, category: type[Warning], *where: Any, **options: Any) -> None:
            if issubclass(category, PrismapWarning):
                console.note(str(message))
            else:
                show(message, category, *where, **options)

        warnings.showwarning = showwarning
        yield


@contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    """SIGTERM cleans up as Ctrl-C does."""

    def stop(*_: Any) -> NoReturn:
        raise KeyboardInterrupt

    try:
        former = signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not in the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)


if __name__ == "__main__":
    sys.exit(main())
