"""The command `prismap`: arguments in, exit code out.

0 done; 2 the user's input is wrong (one line on stderr); 1 anything else; 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from typing import Any, NoReturn

from prismap._version import __version__
from prismap.cli import apply, compare, demo, explore, judge, map, relevance, report, view
from prismap.cli.console import Console, in_options, visible
from prismap.cli.options import not_known
from prismap.exceptions import InputError, MissingExtraError, PrismapWarning
from prismap.tables._table import nearest

COMMANDS = (demo, map, apply, view, judge, compare, relevance, report, explore)


class Parser(argparse.ArgumentParser):
    """argparse whose errors are `InputError`, without a page of usage."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message} (see {self.prog} --help)")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse a value that is not among the choices, with the one that may be meant."""
        if action.choices is not None and value not in action.choices:
            raise argparse.ArgumentError(action, not_known(str(value), [str(choice) for choice in action.choices]))


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
        args, rest = build_parser().parse_known_args(argv)
        if rest:
            raise InputError(f"{_unrecognized(rest, argv)} (see prismap --help)")
    except InputError as error:
        return _complain(error)
    except SystemExit as stop:  # --help and --version
        return int(stop.code or 0)
    if not hasattr(args, "run"):
        build_parser().print_help()
        return 0
    console = Console(quiet=args.quiet, as_json=args.json)
    try:
        with _warnings_as_notes(console, args), _terminated_like_interrupted():
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


def _unrecognized(rest: Sequence[str], argv: Sequence[str] | None) -> str:
    """What is left of the arguments, and which option of the command may be meant."""
    option = next((word.split("=")[0] for word in rest if word.startswith("--")), None)
    if option is None:
        return f"unrecognized arguments: {' '.join(rest)}"
    command = next(word for word in (sys.argv[1:] if argv is None else argv) if not word.startswith("-"))
    usage = io.StringIO()
    with suppress(SystemExit), redirect_stdout(usage):
        build_parser().parse_args([command, "--help"])
    near = nearest(option, sorted(set(re.findall(r"--[a-z][a-z-]*", usage.getvalue()))))[:1]
    return f"prismap {command} has no option {option}{f'; did you mean {near[0]}?' if near else ''}"


def _complain(error: InputError) -> int:
    sys.stderr.write(f"prismap: {visible(in_options(str(error)))}\n")
    return 2


@contextmanager
def _warnings_as_notes(console: Console, args: argparse.Namespace) -> Iterator[None]:
    """Our own warnings become notes, each once; those of other packages stay warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", PrismapWarning)
        show = warnings.showwarning

        def showwarning(message: Any, category: type[Warning], *where: Any, **options: Any) -> None:
            if issubclass(category, PrismapWarning):
                console.note(_as_usual(str(message), args))
            else:
                show(message, category, *where, **options)

        warnings.showwarning = showwarning
        yield


def _as_usual(message: str, args: argparse.Namespace) -> str:
    """A warning about an option that was not given speaks of its usual value, and not of the option."""
    named = re.match(r"(\w+)=(\S+) ", message)
    if named is None or getattr(args, named[1], named) is not None:
        return message
    return f"the usual {named[1].replace('_', ' ')} of {named[2]} {message[named.end() :]}"


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
