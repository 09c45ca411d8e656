"""`prismap apply`: new rows on a map that exists; a file here, many files or a large one in several processes."""

from __future__ import annotations

import argparse
import glob
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from prismap._util.progress import duration
from prismap.bundle import written_aside
from prismap.bundle._aside import remove_leftovers
from prismap.cli import options
from prismap.cli.console import Console
from prismap.cli.job import load_model
from prismap.exceptions import InputError
from prismap.tables import load_cells, reader_of
from prismap.tables._encoding import describe_absent, describe_unknown

if TYPE_CHECKING:
    from prismap.scale._records import Mapped, Progress

RESUME = "the same command with --resume does the rest"


class Unfinished(OSError):
    """Some files could not be mapped: the others are done, and the command ends with code 1."""


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the sub-command."""
    parser = subparsers.add_parser(
        "apply", parents=[common], help="project new rows onto a map",
        description="Project the rows of DATA onto the map of MODEL. Rows far from all fitted rows are marked.",
    )  # fmt: skip
    add = parser.add_argument
    add("model", type=Path, metavar="MODEL", help="model.prismap, or the folder that holds it")
    add("data", metavar="DATA", help="file with the columns that the map was made of, a folder, or a pattern in quotes")
    add(
        "-o", "--out", type=Path, required=True, metavar="OUT",
        help="file to write (parquet or csv, or h5ad for cells), or a folder for several parquet files",
    )  # fmt: skip
    options.add_place(parser)
    add("--keep-columns", action="store_true", help="also write the other columns of DATA")
    add(
        "--engine",
        choices=("local", "dask"),
        default="local",
        help="processes on this machine (default), or a Dask cluster",
    )
    add("--address", metavar="A", help="address of the Dask scheduler (default: start a cluster on this machine)")
    add("--workers", type=options.count, metavar="N", help="number of processes (default: the number of cores)")
    add(
        "--resume",
        action="store_true",
        help="keep the outputs of an earlier run for files that have not changed since, and do the rest",
    )
    add("--force", action="store_true", help="replace OUT if it exists")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, console: Console) -> None:
    """Place the rows, write them, and say what was noticed."""
    remove_leftovers(args.out)
    if args.out.suffix.lower() == ".h5ad":
        place_cells(args.model, Path(args.data), args.out, console, force=args.force)
        return
    if args.out.suffix.lower() not in ("", ".parquet", ".csv"):
        raise InputError(f"-o must name a .parquet, .csv or .h5ad file, or a folder; got {args.out}.")
    if args.address is not None and args.engine != "dask":
        raise InputError("--address is for --engine dask.")
    data = Path(args.data)
    several = data.is_dir() or (glob.has_magic(args.data) and not data.exists())
    if several or args.engine == "dask" or args.workers or not args.out.suffix or args.out.is_dir():
        _into_folder(args, console)
    else:
        _into_file(args, console)


def _into_file(args: argparse.Namespace, console: Console) -> None:
    """One file, in this process."""
    source, out = Path(args.data), args.out
    if out.exists() and not (args.force or args.resume):
        raise InputError(f"{out} is there already: --force replaces it.")
    if out.exists() and any(path.exists() and out.samefile(path) for path in (source, args.model)):
        raise InputError(f"{out} is one of the files to read; name another.")
    from prismap.scale._files import map_part, opened_model
    from prismap.scale._plan import row_group_sizes
    from prismap.scale._records import Part, Progress

    with console.stage(f"loading {args.model}"):
        model, mark = opened_model(args.model)
    sizes = row_group_sizes(source)
    expected = None if sizes is None else sum(sizes)
    place = {"sheet": args.sheet, "skip_rows": args.skip_rows}
    begin, part = perf_counter(), Part(source, out, rows=expected, keep_columns=args.keep_columns, **place)

    def follow(rows: int) -> None:
        console.doing(in_words(Progress(0, 1, rows, expected, perf_counter() - begin)))

    with console.stage(f"placing the rows of {source}"):
        result = map_part(part, model, mark, resume=args.resume, progress=follow)
    _say(console, [result])
    _say_drift(console, result.drifted)
    _say_units(console, model)
    again = " (done before)" if result.skipped else ""
    console.result(
        f"{result.rows} rows placed{again}, {result.far} of them far from all rows of the map: {out}",
        {"out": str(out), **_sums([result]), "drifted": result.drifted},
    )


def _say_drift(console: Console, drifted: dict[str, str]) -> None:
    """One note on the columns whose values the map does not know."""
    if drifted:
        each = [f"{name!r}: {words}" for name, words in drifted.items()]
        more = [f"and {len(each) - 5} more columns"] if len(each) > 5 else []
        console.note(f"far from what the map was fitted on: {'; '.join(each[:5] + more)}")


def _say_units(console: Console, model: Any) -> None:
    """How the map was judged, if its rows are not independent: its figures are about rows of other units."""
    report = None if model.judgement_ is None else model.judgement_.report
    if report is not None and report.n_units is not None and report.scores:
        from prismap.quality._headlines import basis
        from prismap.target import plural

        score = report.scores[0]
        console.note(
            f"this map was judged by {plural(report.unit)} ({basis(report)}): expect its {score.name} of "
            f"{score.with_error(score.value)} for rows of other {plural(report.unit)}"
        )


def _into_folder(args: argparse.Namespace, console: Console) -> None:
    """Many files, or the parts of a large one, by several processes."""
    if args.out.suffix.lower() == ".csv":
        raise InputError(f"several files are written as parquet, into a folder; -o {args.out} names a csv file.")
    if args.sheet is not None or args.skip_rows is not None:
        raise InputError("--sheet and --skip-rows are for one file of rows; several files are read without them.")
    if args.out.is_dir() and any(args.out.rglob("*.parquet")) and not (args.force or args.resume):
        raise InputError(f"{args.out} holds rows already: --resume completes it, --force writes it anew.")
    from prismap.scale import map_files

    def follow(progress: Progress) -> None:
        console.doing(in_words(progress))

    try:
        with console.stage(f"placing the rows of {args.data}"):
            results = map_files(
                args.data, args.out, args.model, engine=args.engine, address=args.address, n_workers=args.workers,
                keep_columns=args.keep_columns, resume=not args.force, progress=follow,
            )  # fmt: skip
    except KeyboardInterrupt:
        console.say(f"nothing is half written; {RESUME}")
        raise
    _say(console, results)
    _say_drift(console, {name: words for result in reversed(results) for name, words in result.drifted.items()})
    failures = [result for result in results if result.error is not None]
    rows, far = sum(result.rows for result in results), sum(result.far for result in results)
    kept = sum(result.skipped for result in results)
    again = f" ({kept} of {len(results)} files done before)" if kept else ""
    console.result(
        f"{rows} rows placed{again}, {far} of them far from all rows of the map: {args.out}",
        {"out": str(args.out), **_sums(results), "files": [asdict(result) for result in results]},
    )
    if failures:
        for result in failures:
            console.say(f"not mapped: {result.error}")
        shown = "; ".join(str(result.error) for result in failures[:3]) + ("; ..." if failures[3:] else "")
        raise Unfinished(f"{len(failures)} of {len(results)} files were not mapped ({shown}). Repair them: {RESUME}.")


def in_words(progress: Progress) -> str:
    """Rows, rate, time left, files.

    >>> from prismap.scale._records import Progress
    >>> in_words(Progress(1, 4, 500_000, 2_000_000, 10.0))
    '500,000 of 2,000,000 rows, 50,000 rows/s, 30 s left, 1 of 4 files'
    """
    expected = f" of {progress.rows_expected:,}" if progress.rows_expected else ""
    words = [f"{progress.rows:,}{expected} rows", f"{progress.rate:,.0f} rows/s"]
    if progress.seconds_left is not None:
        words.append(f"{duration(progress.seconds_left)} left")
    if progress.files > 1:
        words.append(f"{progress.files_done} of {progress.files} files")
    return ", ".join(words)


def _sums(results: Iterable[Mapped]) -> dict[str, Any]:
    """Counts over all files."""
    filled: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    levels: dict[str, list[str]] = {}
    absent: dict[str, str] = {}
    rows = far = 0
    doubtful = False
    for result in results:
        doubtful = doubtful or result.doubtful
        rows, far = rows + result.rows, far + result.far
        filled.update(result.filled)
        unknown.update(result.unknown)
        absent |= result.absent
        levels |= {name: sorted({*levels.get(name, ()), *new}) for name, new in result.new_levels.items()}
    return {
        "rows": rows, "far": far, "filled": dict(filled), "unknown": dict(unknown), "new_levels": levels,
        "absent": absent, "doubtful": doubtful,
    }  # fmt: skip


def _say(console: Console, results: list[Mapped]) -> None:
    sums = _sums(results)
    if sums["absent"]:
        console.note(describe_absent(sums["absent"], doubtful=sums["doubtful"]))
    for name, number in sums["filled"].items():
        console.note(f"{number} missing values of {name!r} were filled as at the fit")
    for name, number in sums["unknown"].items():
        console.note(describe_unknown(name, number, sums["new_levels"]))
    unknown = sorted({name for result in results for name in result.new_classes})
    if unknown:
        console.note(f"classes the map was not fitted with: {', '.join(unknown[:8])}")


def place_cells(model_path: Path, source: Path, out: Path, console: Console, *, force: bool) -> None:
    """Write the cells of a file with `obsm["X_prismap"]`, `obs["prismap_far"]` and `uns["prismap"]`."""
    if reader_of(source) != "cells":
        raise InputError(f"-o {out} is a copy of the cells that are read, and {source} holds none (.h5ad).")
    if out.exists() and not force:
        raise InputError(f"{out} is there already: --force replaces it.")
    if out.exists() and out.samefile(source):
        raise InputError(f"{out} is the file to read; name another.")
    model: Any = load_model(model_path, console)
    with console.stage(f"placing the cells of {source}"):
        cells = load_cells(source)
        model.to_anndata(cells)
    _say_units(console, model)
    with console.stage(f"writing {out}"), written_aside(out, claim=False) as aside:
        cells.write_h5ad(aside)
    far = int(cells.obs["prismap_far"].sum())
    console.result(
        f"{cells.n_obs} cells placed, {far} of them far from all cells of the map: {out} (obsm['X_prismap'])",
        {"out": str(out), "rows": cells.n_obs, "far": far},
    )
