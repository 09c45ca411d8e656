"""Several maps of the same rows and their verdicts: one table, one picture, one page. For `judge` and `compare`."""

from __future__ import annotations

import argparse
import importlib.util
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from prismap.bundle import write_map, written_aside
from prismap.cli import options
from prismap.cli.console import Console, to_json
from prismap.cli.folder import PAGE, PICTURE, folder_aside
from prismap.cli.job import attempt
from prismap.exceptions import InputError
from prismap.page import Layer, PageData, write_html
from prismap.page import Target as PageTarget
from prismap.tables import Roles, Table, label_texts, learn_encoding, read_table, reader_of
from prismap.tables._table import describe_names

if TYPE_CHECKING:  # --help does not need it
    from prismap.target import Target

VERDICTS, WORDS = "verdicts.json", "verdicts.txt"
#: A line per row: without and with pyarrow.
ROWS = ("map.csv", "map.parquet")


@dataclass(frozen=True)
class JudgedMap:
    """A map by name, its positions and its report."""

    name: str
    positions: NDArray[np.float64]
    report: Any


def read_together(maps: Sequence[JudgedMap]) -> list[JudgedMap]:
    """Verdicts that stand though several were tried."""
    return [replace(one, report=replace(one.report, looks=len(maps))) for one in maps]


def add_table_options(parser: argparse.ArgumentParser) -> None:
    """How the rows are read: `read_rows` reads these."""
    parser.add_argument("data", type=Path, metavar="DATA", help="file with one row per sample")
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="OUT", help="folder to write")
    parser.add_argument("--force", action="store_true", help="replace the map that OUT holds")
    parser.add_argument("--title", help="title of the page and the picture (default: the name of the file)")
    options.add_place(parser)
    options.add_columns(parser)
    options.add_units(parser, order=False)
    parser.add_argument(
        "--given", metavar="COL",
        help="column of levels that are known and of no interest, such as a batch: how far the target shows inside "
        "them, and whether they show (prismap leaves out what they shift)",
    )  # fmt: skip
    parser.add_argument(
        "--standardize", action=argparse.BooleanOptionalAction,
        help="bring every column to mean 0 and variance 1 (default, except for cells)",
    )  # fmt: skip
    parser.add_argument(
        "--rep", metavar="KEY", help="for h5ad files: the entry of obsm, or the layer, to use as data (default: X)"
    )
    parser.add_argument("--impute", choices=("median",), help="fill missing values (default)")
    parser.add_argument(
        "--target-kind", choices=("auto", "class", "real", "none"), default="auto",
        help="what the target is; none ignores it (default: auto)",
    )  # fmt: skip
    parser.add_argument("--seed", type=options.seed, default=0, metavar="N", help="random seed (default: 0)")


def read_rows(
    args: argparse.Namespace, console: Console, apart: Sequence[str] = ()
) -> tuple[Table, NDArray[np.float64]]:
    """The table, and its features as numbers; columns `apart` are no features."""
    from prismap.map._tables import unit_roles, with_quantities

    cells = reader_of(args.data) == "cells"
    if args.rep is not None and not cells:
        raise InputError(f"--rep is for h5ad files; {args.data} has one matrix.")
    if args.given is not None and args.given == args.target:
        raise InputError(f"--given and --target both name {args.given!r}: a map is not about what is of no interest.")
    roles = Roles(
        args.target, args.ids, args.drop, show=args.show, use=args.use, matrix=args.rep, given=args.given,
        **unit_roles(args.groups),
    )  # fmt: skip
    with console.stage(f"reading {args.data}"):
        table = read_table(args.data, roles, sheet=args.sheet, skip_rows=args.skip_rows)
    for note in table.notes:
        console.note(note)
    missing = [name for name in apart if name not in table.columns]
    if missing:
        raise InputError(
            f"there is no column {missing[0]!r} for --x or --y; {describe_names(missing[0], table.columns)}."
        )
    standardize = not cells if args.standardize is None else args.standardize
    roles = replace(roles, show=(*args.show, *apart))
    if set(table.columns) <= {*roles.shown, *table.show}:
        raise InputError(
            f"{args.data} has no columns besides coordinates and labels; a map is judged against its data."
        )
    # Methods of others and the neighbourhoods of the data need every value.
    encoding, notes = learn_encoding(table, roles=roles, standardize=standardize, impute="median")
    X = encoding.apply(table).X
    table, _, more = with_quantities(table, roles, X, target_kind=args.target_kind)
    for note in (*notes, *more):
        console.note(note)
    return table, X


def units_of(table: Table, X: NDArray[np.float64], target: Any, args: argparse.Namespace, console: Console) -> Any:
    """Which rows of a table are not independent, by the column that was named or by what the rows show."""
    from prismap.map._tables import NamedColumn, unit_values
    from prismap.metrics._shift import without_levels
    from prismap.target import decide_units

    roles, groups = Roles(ids=args.ids), args.groups
    if groups not in (None, "none"):
        groups = NamedColumn(unit_values(table, groups, roles), groups)
    columns = {name: unit_values(table, name, roles) for name in table.columns}
    alike = without_levels(X, target, table.given)
    dependence = decide_units(alike, target, groups=groups, copies=args.copies or "auto", columns=columns, raw=X)
    for note in dependence.notes:
        console.note(note)
    return dependence


def levels_of(table: Table, args: argparse.Namespace) -> Any:
    """The levels of the column of no interest, with its name; None if there is none."""
    from prismap.map._tables import NamedColumn

    return None if table.given is None else NamedColumn(table.given.tolist(), args.given)


def write_verdicts(
    maps: Sequence[JudgedMap], table: Table, X: NDArray[np.float64], args: argparse.Namespace, console: Console
) -> None:
    """Write the folder, with all figures, and print what is read first."""
    text, everything = words_of(maps, args.out / WORDS), words_of(maps)
    document = {one.name: one.report.to_dict() for one in maps}
    page = page_of_maps(maps, table, X, args, console)
    with console.stage("writing"), folder_aside(args.out, force=args.force) as folder:
        for name, content in ((VERDICTS, to_json(document)), (WORDS, f"{everything}\n")):
            with written_aside(folder / name) as aside:
                aside.write_text(content, encoding="utf-8")
        write_map(folder / ROWS[bool(importlib.util.find_spec("pyarrow"))], rows_of(maps, table))
        write_html(page, folder / PAGE)
        attempt(console, f"no {PICTURE}: drawing it", lambda: draw(maps, page, folder, console))
        files = sorted(path.name for path in folder.iterdir())
    console.result(f"{text}\n\n{args.out}: {', '.join(files)}", {"out": str(args.out), "files": files, **document})


def rows_of(maps: Sequence[JudgedMap], table: Table) -> dict[str, NDArray[Any]]:
    """The columns of the file of rows: where each lies on each map, how far that can be trusted, in which cluster."""
    columns: dict[str, NDArray[Any]] = {"id": np.arange(table.n_rows) if table.ids is None else table.ids}
    for one in maps:
        Y = flat(one.positions)
        columns |= {f"x ({one.name})": Y[:, 0], f"y ({one.name})": Y[:, 1], **beside(one)}
    return columns


def beside(one: JudgedMap) -> dict[str, NDArray[Any]]:
    """What is known of each row of a map: its trust, and its cluster as the report counts them, 0 for none."""
    from prismap.quality import find_clusters

    trust = one.report.row_trust
    known = {} if trust is None else {f"trust ({one.name})": trust.value}
    return known | {f"cluster ({one.name})": find_clusters(one.positions, random_state=one.report.seed) + 1}


def words_of(maps: Sequence[JudgedMap], more: Path | None = None) -> str:
    """One table of verdicts, then every report: all of it, or what is read first if `more` names where the rest is."""
    lines = [*table_of(maps), ""] if len(maps) > 1 else []
    for one in maps:
        lines += [f"== {one.name}", one.report.details if more is None else one.report.summary(str(more)), ""]
    return "\n".join(lines).rstrip()


def table_of(maps: Sequence[JudgedMap]) -> list[str]:
    """A line per map: the three answers, the error behind them, the two halves of `--given`, and what the map keeps."""
    halves = {"inside levels": "target_inside_levels", "levels show": "column_shows"}
    halves = halves if any(one.report.confounding is not None for one in maps) else {}
    rows = [["map", "shows", "error", "by chance", "exaggerates", "target needed", *halves, "neighbourhoods kept"]]
    for one in maps:
        report = one.report
        score = report.scores[0] if report.scores else None
        area = next(iter(report.structure.values())).auc_log_k
        rows.append([
            one.name, answer(report, "target_shows"),
            "" if score is None else f"{score.figure(score.value)} ({score.name})",
            "" if score is None else score.figure(score.chance),
            answer(report, "map_exaggerates"), answer(report, "target_needed"),
            *(answer(report, id) for id in halves.values()), f"{area:.2f}",
        ])  # fmt: skip
    widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def answer(report: Any, id: str) -> str:
    """The answer of a statement; nothing where the question was not asked."""
    stated = report.statement(id)
    return "" if stated is None else stated.answer


def notes_of(maps: Sequence[JudgedMap]) -> list[str]:
    """The page has room for one verdict: which map it is about, and what is read first of the others."""
    if len(maps) == 1:
        return []
    return [f"The verdict is about {maps[0].name}.", *(f"{one.name}: {first_words(one.report)}" for one in maps[1:])]


def first_words(report: Any) -> str:
    """What is read first of a report, as a paragraph."""
    return " ".join(one.words for one in report.statements if one.level != "detail")


def page_of_maps(
    maps: Sequence[JudgedMap], table: Table, X: NDArray[np.float64], args: argparse.Namespace, console: Console
) -> PageData:
    """The page: a layer per map, so that a selection on one is seen on the others."""
    layers = [Layer(f"map{j}", one.name, flat(one.positions), first_words(one.report)) for j, one in enumerate(maps)]
    first = maps[0]
    return PageData(
        layers=layers, title=args.title or args.data.stem, target=shown_target(table, X, args),
        report=first.report.to_dict(), row_ids=label_texts(table.ids),
        columns={name: values if name.startswith("trust") else values.astype(str)
                 for one in maps for name, values in beside(one).items()},
        notes=(*notes_of(maps), *console.notes),
    )  # fmt: skip


def shown_target(table: Table, X: NDArray[np.float64], args: argparse.Namespace) -> PageTarget:
    """The target in the page's terms."""
    from prismap.page._of_map import page_target

    return replace(page_target(checked_target(table, X, args)), name=args.target or "target")


def checked_target(table: Table, X: NDArray[np.float64], args: argparse.Namespace) -> Target:
    """The target as `judge` takes it; a refusal names its column."""
    from prismap.judging._inputs import as_target

    try:
        return as_target(table.target, table.n_rows, args.target_kind, X)
    except InputError as error:
        raise InputError(
            re.sub(r"\by\b", lambda _: f"the target {args.target or 'y'!r}", str(error), count=1)
        ) from error


def flat(positions: NDArray[np.float64]) -> NDArray[np.float64]:
    """The first two columns, the second zero if there is one only (two classes in discriminant analysis)."""
    padded = np.column_stack([positions, np.zeros(len(positions))]) if positions.shape[1] == 1 else positions
    return np.asarray(padded[:, :2], dtype=np.float64)


def draw(maps: Sequence[JudgedMap], page: PageData, folder: Path, console: Console) -> None:
    """The maps side by side, if matplotlib is there."""
    if not importlib.util.find_spec("matplotlib"):
        console.note(f"no {PICTURE}: that needs matplotlib (pip install 'prismap[plot]')")
        return
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from prismap.inspection import MapDisplay

    n_columns = min(len(maps), 2 if len(maps) == 4 else 3)
    n_lines = -(-len(maps) // n_columns)
    figure = Figure(figsize=(5 * n_columns + 1.5, 5 * n_lines), layout="constrained")
    FigureCanvasAgg(figure)
    classes = page.target.classes if page.target.has_classes else None
    panels = []
    for j, one in enumerate(maps):
        # Panels are squares of one size, whatever the shape of their maps: the legend stands beside all of them.
        axes = figure.add_subplot(n_lines, n_columns, j + 1, box_aspect=1, adjustable="datalim")
        display: Any = MapDisplay(flat(one.positions), page.target.entries, classes, one.name)
        panels.append(display.plot(axes, legend=False))
    panels[0].explain(figure)
    with written_aside(folder / PICTURE) as aside:
        figure.savefig(aside, dpi=130)
