"""The league: the methods of the field on its own benchmark, by rows that the map has seen and by new ones.

Which methods make maps of labelled data whose classes can be trusted? This page compares the methods of the field with
prismap, and with models of all features. It shows how well each map predicts the classes of new rows, and how much it
shows that the data do not have. The benchmark is that of Rhodes, Aumon, Morin et al. (2024), who proposed RF-PHATE: its
27 different tables. The 30 sets of [the field](field.md) follow.

[How it was measured](#how-it-was-measured) and [the limits](#limits) are below the tables. A click on a heading sorts a
table. `prismap compare` makes the same comparison on your own data ([how](../cli.md)).
"""

from __future__ import annotations

import json
import sys

from experiments import league_quoted, league_text
from experiments.league_measuring import measured, rows_of, rows_of_judging, rows_of_models, rows_of_units
from experiments.league_methods import METHODS, NONE, UNITS_TOLD
from experiments.league_pairs import part_name
from experiments.league_picture import draw
from experiments.league_tables import (
    NEW_ROWS,
    SEEN_ROWS,
    STRUCTURE,
    ahead,
    by_set,
    judged_table,
    judged_table_permuted,
    league_of,
    ordered,
    units_table,
    written,
)
from experiments.ledger import main, markdown, rows_path

SHOWS_ALL = True
COMMAND = "make league DATA=FOLDER PEERS=PYTHON"
#: The groups of parts, by what a method needs for them: the table of the field first, then units, our own sets last.
LEAGUE = [name for name in METHODS if name != UNITS_TOLD]
PLACING = [name for name, how in METHODS.items() if how.placing != NONE]
JUDGED = [name for name, how in METHODS.items() if how.maker and name != UNITS_TOLD]
PARTS = (
    {part_name("models", "league"): lambda options: rows_of_models("league", options)}
    | {part_name(name, "league"): measured(rows_of, name, "league") for name in LEAGUE}
    | {part_name(name, "units"): measured(rows_of_units, name) for name in PLACING}
    | {part_name(name, "judged"): measured(rows_of_judging, name) for name in JUDGED}
    | {part_name("models", "our sets"): lambda options: rows_of_models("our sets", options)}
    | {part_name(name, "our sets"): measured(rows_of, name, "our sets") for name in LEAGUE}
)
WITHOUT_DATA = tuple(part for part in PARTS if not part.endswith((", league", ", judged")))


# --- the page ---------------------------------------------------------------------------------------------------------


def rows_in(out):
    """The rows of all parts that were done, by part."""
    paths = {part: rows_path(sys.modules[__name__], part, out) for part in PARTS}
    return {part: json.loads(path.read_text(encoding="utf-8"))["rows"] for part, path in paths.items() if path.exists()}


def page_summary(out):
    """The picture, a section per question with its table, how it was measured, and the sets one by one."""
    rows = rows_in(out)
    figures = league_quoted.figures_of_text(rows)
    draw(league_of("league", rows), out / "league.png")
    picture = ["![league](league.png)", league_text.PICTURE.strip()] if (out / "league.png").exists() else []
    sections = [*sections_of_league(rows), *other_sections(rows), *sections_of_sets(rows)]
    blocks = [block for title, *parts in sections if any(parts) for block in (f"## {title}", *parts)]
    return "\n\n".join([*picture, *(block.strip().format(of=figures) for block in blocks if block)])


def sections_of_league(rows):
    """New rows, whom the default is behind, seen rows, and structure: title, text and table of each."""
    lines = league_of("league", rows)
    if not lines:
        return
    yield "New rows", league_text.NEW_ROWS, table(written(lines, NEW_ROWS))
    yield "Table by table", league_text.AHEAD, table(ahead("league", rows))
    yield "Models of all features", league_text.CEILING, table(league_quoted.far_below(rows))
    maps = [line for line in lines if line["method"] in METHODS]
    yield "Seen rows and permuted labels", league_text.SEEN_ROWS, table(written(ordered(maps, "seen, 10"), SEEN_ROWS))
    yield "Structure and cost", league_text.STRUCTURE, table(written(ordered(maps, "R_NX"), STRUCTURE))


def other_sections(rows):
    """What `judge` states, units, our own sets, and how all of it was measured."""
    if lines := list(judged_table(rows)):
        permuted = table(judged_table_permuted(rows))
        yield "What judge states", league_text.JUDGED, table(lines), league_text.JUDGED_PERMUTED, permuted
    if lines := list(units_table(rows)):
        yield "Rows that belong together", league_text.UNITS, table(lines)
    if lines := league_of("our sets", rows):
        maps = ordered([line for line in lines if line["method"] in METHODS], "seen, 10")
        tables = [table(written(lines, NEW_ROWS)), table(written(maps, SEEN_ROWS | STRUCTURE))]
        yield "Our 30 sets", league_text.OURS, *tables, table(ahead("our sets", rows))
    yield "How it was measured", league_text.MEASURED
    yield "Limits", league_text.LIMITS


def sections_of_sets(rows):
    """Both groups set by set: with models, by maps with labels, by maps without."""
    for group, words in league_quoted.GROUPS.items():
        tables = {title: lines for title, lines in by_set(group, rows).items() if lines}
        if tables:
            titled = [block for title, lines in tables.items() for block in (f"**{title}**", table(lines))]
            yield f"Set by set: {words}", league_text.BY_SET, *titled


def table(lines):
    """Lines as Markdown, which is no template; empty if there are none."""
    lines = list(lines)
    return markdown(lines).replace("{", "{{").replace("}", "}}") if lines else ""


def page_end(found):
    """Which code measured what: commit and seconds of the processor by method and group."""
    lines = []
    for name in ("models", *METHODS):
        kept = {group: found.get(part_name(name, group)) for group in ("league", "units", "judged", "our sets")}
        lines.append({"method": name} | {group: cost_of(one) for group, one in kept.items()})
    words = "The commit of the code, and seconds of the processor for the part; empty where nothing was measured."
    return ["## What measured this page", f"`{COMMAND}`. {words}", markdown(lines)]


def cost_of(kept):
    """Commit and seconds of a part."""
    return f"{kept['commit']}, {kept['seconds']} s" if kept else ""


if __name__ == "__main__":
    main(sys.modules[__name__])
