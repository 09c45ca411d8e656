"""The tables of the league's page, from kept rows."""

from __future__ import annotations

import numpy as np

from experiments.league_methods import METHODS, NONE, OWN
from experiments.league_pairs import DEFAULT, MODELS, behind, by_method, ceiling, further, gaps, listed, overall

#: Means over sets.
MEANS = ("new, 10", "new, 1", "balanced", "seen, 10", "invented", "R_NX", "local", "global")
#: Figures with two decimals, without any, and those that a method has which places no new rows.
HUNDREDTHS, WHOLE, OF_NEW = ("R_NX", "local", "global", "seconds"), ("MB",), ("new, 10", "new, 1", "balanced")
#: The headings of the tables of methods, by what they show.
NEW_ROWS = {
    "method": "method", "labels": "gets labels", "new rows": "placement", "new, 10": "accuracy, %",
    "to prismap": "to prismap", "+-": "+-", "new, 1": "by one, %", "balanced": "balanced error, %", "splits": "splits",
}  # fmt: skip
SEEN_ROWS = {
    "method": "method", "labels": "gets labels", "seen, 10": "seen rows, %", "new, 10": "new rows, %",
    "gain, seen": "seen rows, to the data", "invented": "invented",
}  # fmt: skip
STRUCTURE = {
    "method": "method", "R_NX": "R_NX", "local": "local", "global": "global", "seconds": "seconds", "MB": "MB",
}  # fmt: skip


# --- methods ----------------------------------------------------------------------------------------------------------


def league_of(group, rows):
    """One line per method and model, the means over its sets, best first: new rows by ten neighbours."""
    kept = by_method(rows, group)
    lines = [line for name in kept if (line := line_of(kept, name))]
    return ordered(lines, "new, 10")


def line_of(kept, name):
    """The figures of a method or a model; nothing where it made no map."""
    sets = [row for row in kept[name].values() if "new, 10" in row or "seen, 10" in row]
    if not sets:
        return {}
    how = METHODS.get(name)
    line = {"method": name, "labels": "yes" if how is None or how.labels else "no"}
    line["new rows"] = OWN if how is None else how.placing
    line |= {key: mean_of(sets, key) for key in MEANS}
    data = kept.get("no map", {})
    both = [row["seen, 10"] - data[row["set"]]["seen, 10"] for row in sets if "seen, 10" in row and row["set"] in data]
    line |= {"gain, seen": float(np.mean(both))} if both else {}
    if mean := overall(gaps(kept, name)):
        line |= dict(zip(("to prismap", "+-"), mean, strict=True))
    if how is not None:
        line["seconds"] = float(np.median([float(row["seconds"]) for row in sets]))
        line["MB"] = max(row["MB"] for row in sets)
    return line | {"sets": len(sets), "splits": sum(splits_of(row) for row in sets)}


def splits_of(row):
    """How many splits of a set have a figure."""
    return len(row["told"]) if row.get("told") else row.get("splits", 1)


def mean_of(rows, key):
    """The mean over the sets that have the figure; None if none has."""
    values = [float(row[key]) for row in rows if row.get(key, "") != ""]
    return float(np.mean(values)) if values else None


def ordered(lines, key):
    """Lines by a figure, the largest first and those without it last."""
    return sorted(lines, key=lambda line: -np.inf if line.get(key) is None else line[key], reverse=True)


def written(lines, columns):
    """Lines as a page has them, with these columns."""
    return [{heading: cell_of(line, key) for key, heading in columns.items()} for line in lines]


def cell_of(line, key):
    """A figure with its decimals, without a minus before a zero."""
    value = line.get(key)
    if value is None:
        return NONE if line["new rows"] == NONE and key in OF_NEW else ""
    if isinstance(value, float):
        digits = 2 if key in HUNDREDTHS else 0 if key in WHOLE else 1
        return f"{round(value, digits) + 0.0:.{digits}f}"
    return value


# --- sets -------------------------------------------------------------------------------------------------------------


def ahead(group, rows):
    """Per method, on how many sets it is ahead of the default and behind it, by more than one and two errors."""
    kept = by_method(rows, group)
    for name in (line["method"] for line in league_of(group, rows)):
        if not (pairs := gaps(kept, name)):
            continue
        line = {"method": name, "sets": len(pairs)}
        for errors, words in ((1, "one error"), (2, "two errors")):
            line[f"ahead by {words}"] = len(further(pairs, errors))
            line[f"behind by {words}"] = len(behind(pairs, errors))
        yield line | {"ahead by one error on": listed(further(pairs, 1))}


def by_set(group, rows):
    """Tables of % of new rows predicted, a line per set: with models, by other maps with labels, by maps without."""
    kept, above = by_method(rows, group), ceiling(group, rows)
    kept = {name: own for name, own in kept.items() if any("new, 10" in row for row in own.values())}
    first = ["no map", DEFAULT, *MODELS]
    aware = [name for name in kept if name not in first and METHODS[name].labels]
    without = [name for name in kept if name not in first and not METHODS[name].labels]
    sets = kept.get("no map", {})

    def lines_of(names):
        there = [name for name in names if name in kept]
        return [{"set": one} | {name: kept[name].get(one, {}).get("new, 10", "") for name in there} for one in sets]

    models = [about_set(sets[line["set"]]) | line | to_map(above, line["set"]) for line in lines_of(first)]
    tables = {"Prismap and models of all features": models}
    return tables | {"Other maps with labels": lines_of(aware), "Maps without labels": lines_of(without)}


def about_set(row):
    """What a set is."""
    return {"set": row["set"], "rows": row["rows"], "new": row["held out"], "splits": row.get("splits", 1)}


def to_map(above, one):
    """By how much the better model is ahead of the default on a set."""
    points, error = above.get(one, ("", ""))
    return {"better model to prismap": points, "+-": error}


# --- units and statements ---------------------------------------------------------------------------------------------


def units_table(rows):
    """New rows and new units by method, means over the sets, best first; to the default, with errors by units."""
    kept, lines = by_method(rows, "units"), []
    for name, own in kept.items():
        sets = [row for row in own.values() if "new units" in row]
        if not sets:
            continue
        coins = [row for row in sets if row["set"].startswith("coins")]
        line = {"method": name} | {key: mean_of(sets, key) for key in ("seen", "new rows", "new units")}
        pairs = gaps(kept, name)
        line["to prismap"] = float(np.mean([points for points, _ in pairs.values()])) if pairs else ""
        line["+-"] = float(np.linalg.norm([error for _, error in pairs.values()]) / len(pairs)) if pairs else ""
        lines.append(line | {f"coins: {key}": mean_of(coins, key) for key in ("seen", "new rows", "new units")})
    return ordered(lines, "new units")


def judged_table(rows):
    """What maps show, what is true, and what `judge` says, means and counts over the judged tables."""
    for name, sets in judged_sets(rows).items():
        line = {"method": name} | {key: mean_of(sets, key) for key in ("shown", "true", "stated")}
        for key in ("shown", "stated"):
            off = [abs(row[key] - row["true"]) for row in sets if "true" in row]
            line[f"{key}, off by"] = float(np.mean(off)) if off else None
        line |= {"target shows": count(sets, "shows"), "exaggerates": count(sets, "exaggerates")}
        yield {key: "" if value is None else value for key, value in line.items()} | {"tables": len(sets)}


def judged_table_permuted(rows):
    """The same of maps of permuted labels."""
    for name, sets in judged_sets(rows).items():
        sets = [row for row in sets if "permuted: shown" in row]
        line = {"method": name} | {key: mean_of(sets, f"permuted: {key}") for key in ("shown", "true", "stated")}
        line |= {"target shows": count(sets, "permuted: shows"), "exaggerates": count(sets, "permuted: exaggerates")}
        yield {key: "" if value is None else value for key, value in line.items()} | {"tables": len(sets)}


def judged_sets(rows):
    """The rows of the judged tables by method, as far as there is a statement."""
    kept = {name: [row for row in own.values() if "stated" in row] for name, own in by_method(rows, "judged").items()}
    return {name: sets for name, sets in kept.items() if sets}


def count(rows, key):
    """How often the answer is yes."""
    return sum(row.get(key) == "yes" for row in rows)
