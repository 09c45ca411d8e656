"""`prismap map --compare`: objects of a file, compared by name, as a job."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap.cli.console import Console
from prismap.cli.job import Job
from prismap.exceptions import InputError
from prismap.tables import ENDINGS, Roles, TextColumn, read_table


def add_object_options(parser: argparse.ArgumentParser) -> None:
    """How objects that are no rows of numbers become a map."""
    group = parser.add_argument_group("objects that are not vectors")
    group.add_argument(
        "--compare", metavar="NAME",
        help="compare the objects of a FASTA or JSON lines file, or of a column of text: edit, alignment, dtw, ...",
    )  # fmt: skip
    group.add_argument("--column", metavar="COL", help="column of text that holds the objects")
    group.add_argument("--labels", type=Path, metavar="FILE", help="table whose first two columns are names and labels")


def refuse_object_options(args: argparse.Namespace) -> None:
    """Options of objects mean nothing without a comparison."""
    if args.column is not None or args.labels is not None:
        raise InputError("--column and --labels are for objects: name their comparison with --compare.")


def read_objects(args: argparse.Namespace, console: Console, task: str, options: Callable[..., Any]) -> Job:
    """The file as a job; `options` gives the arguments of `PrisMap` for the data and the kind of target."""
    from prismap.comparisons import Objects

    if len(args.target or ()) > 1:
        raise InputError("objects take one target: --target names a single column.")
    how = Objects(args.compare)
    with console.stage(f"reading {args.file}"):
        things = read_things(args)
        labels = things.labels if args.labels is None else read_labels(args.labels, things.names)
    y = None if labels is None or task == "none" else target_of(labels)
    if y is None:
        console.note("the map has no target: it shows the objects alone (--labels names a file of labels)")
    missing = 0 if labels is None else sum(label is None for label in labels)
    if missing and y is not None:
        console.note(f"{missing} objects have no label; they are placed without one")
    return Job(
        X=things.objects,
        y=y,
        encoding=None,
        title=args.title or args.file.stem,
        target_name=(args.target or ["label"])[0],
        options=options(args, how, "none" if y is None else task),
        ids=np.array(things.names),
        about={} if args.column is None else {"objects": {"column": args.column, "ids": args.ids}},
    )


def read_things(args: argparse.Namespace) -> Any:
    """Sequences of a FASTA file, objects of JSON lines, or a column of text of any table."""
    from prismap.comparisons import text_column
    from prismap.comparisons.reading import FASTA, JSON, objects_reader

    if args.column is not None:
        roles = Roles((args.target or [None])[0], args.ids, text=(args.column,))
        return text_column(read_table(args.file, roles), args.column)
    reader = objects_reader(args.file)
    if reader is not None:
        return reader(args.file)
    raise InputError(
        f"--compare {args.compare} needs to know where the objects of {args.file} are: --column names a column of text "
        f"of a table ({', '.join(ENDINGS)}); FASTA files end in {' or '.join(FASTA[:2])}, JSON lines in {JSON[0]}."
    )


def read_labels(path: Path, names: list[str]) -> list[Any]:
    """The label of each name by a table of both, None where it has none."""
    table = read_table(path, Roles())
    columns = list(table.columns)
    if len(columns) < 2:
        raise InputError(f"--labels {path} must have a column of names and a column of labels; got {len(columns)}.")
    first, second = (column_texts(table.columns[name]) for name in columns[:2])
    label = dict(zip((str(name) for name in first), second, strict=True))
    found = [label.get(name) for name in names]
    if all(one is None for one in found):
        raise InputError(
            f"--labels {path} names none of the objects: they are called {', '.join(names[:3])}, ... and its column "
            f"{columns[0]!r} holds {', '.join(str(name) for name in first[:3])}, ..."
        )
    return found


def column_texts(column: Any) -> list[Any]:
    """Values of a column: text, or numbers, whole ones as such."""
    if isinstance(column, TextColumn):
        return list(column.values().tolist())
    return [None if v != v else int(v) if float(v).is_integer() else float(v) for v in column.tolist()]


def target_of(labels: list[Any]) -> NDArray[Any]:
    """Labels as an array; numbers stay numbers."""
    if all(isinstance(label, (int, float, np.number)) for label in labels):
        return np.array(labels)
    return np.array(labels, dtype=object)
