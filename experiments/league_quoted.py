"""The figures that the paragraphs of the league's page name, as texts, from the kept rows."""

from __future__ import annotations

import numpy as np

from experiments.field_sets import GENERATED
from experiments.league_methods import METHODS, UNITS_TOLD
from experiments.league_pairs import DEFAULT, MODELS, by_method, ceiling, further, gaps, listed, overall
from experiments.league_tables import cell_of, count, judged_sets, judged_table, league_of, ordered, units_table

#: The groups of sets in words.
GROUPS = {"league": "the 27 tables", "our sets": "our 30 sets"}


class Known(dict):
    """Texts by name; "-" for what was not measured."""

    def __missing__(self, name):
        return "-"


def figures_of_text(rows):
    """All that the paragraphs name, as texts, from the rows of the parts."""
    lines, pairs = league_of("league", rows), pairs_of(rows, "league")
    texts = columns_of(lines) | {"n_tables": len(by_method(rows, "league").get(DEFAULT, ()))}
    texts |= of_differences(pairs) | of_rivals(pairs) | of_protocol(lines) | of_structure(lines) | of_ceiling(rows)
    texts |= of_judging(rows) | of_units(rows) | of_our_sets(rows)
    texts |= {"failures": failures(rows), "undone": undone(rows), "n_generated": len(GENERATED)}
    return Known({key: str(value) if isinstance(value, int) else value for key, value in texts.items()})


def pairs_of(rows, group):
    """Points ahead of the default by method, then by set."""
    kept = by_method(rows, group)
    return {name: own for name in kept if (own := gaps(kept, name))}


def columns_of(lines):
    """Figures by column, then by method."""
    names = {"new": "new, 10", "seen": "seen, 10", "invented": "invented"}
    names |= {key: key for key in ("R_NX", "local", "global")}
    return {
        key: Known({line["method"]: cell_of(line, column) for line in lines if line.get(column) is not None})
        for key, column in names.items()
    }


# --- new rows ---------------------------------------------------------------------------------------------------------


def of_differences(pairs):
    """Who is ahead of the default by more than two standard errors over the sets, and who cannot be distinguished."""
    means = {name: mean for name, own in pairs.items() if (mean := overall(own))}
    ahead = [named(name, mean) for name, mean in means.items() if mean[0] > 2 * mean[1]]
    level = [named(name, mean) for name, mean in means.items() if abs(mean[0]) <= 2 * mean[1]]
    surely = f"Ahead of it by more than two standard errors: {listed(ahead)}." if ahead else ""
    return {
        "surely_ahead": surely or "Nothing is ahead of it by more than two standard errors.",
        "level": f"These cannot be distinguished from it: {listed(level)}." if level else "",
    }


def named(name, mean):
    """A method with its points and their standard error."""
    return f"{name} ({signed(*mean)})"


def signed(points, error):
    """Points with their sign and no minus before a zero, and their standard error."""
    return f"{round(points, 1) + 0.0:+.1f} +- {error:.1f}"


def of_rivals(pairs):
    """The closest other maps, and how many are ahead on more than two sets."""
    no_rivals = ("no map", *MODELS)
    rivals = {name: own for name, own in pairs.items() if not name.startswith(DEFAULT) and name not in no_rivals}
    maps = {name: mean for name, own in rivals.items() if (mean := overall(own))}
    closest = [named(name, maps[name]) for name in sorted(maps, key=lambda name: -maps[name][0])]
    texts = {"n_rivals": len(rivals), "by_chance": round(0.16 * max(map(len, rivals.values()), default=0))}
    texts |= dict(zip(("closest", "second"), closest, strict=False))
    for errors, key in ((1, "n_often"), (2, "n_often_surely")):
        texts[key] = sum(len(further(own, errors)) > 2 for own in rivals.values()) or "none"
    return texts


def of_ceiling(rows):
    """On how many sets the better model of all features is not far ahead."""
    points = [pair[0] for group in GROUPS for pair in ceiling(group, rows).values()]
    return {"n_sets": len(points)} | {f"within_{most}": sum(one <= most for one in points) for most in (3, 6)}


def far_below(rows, most=3):
    """The sets on which the better model is ahead by more points than this, farthest first, as a table."""
    far = [(pair, one, group) for group in GROUPS for one, pair in ceiling(group, rows).items() if pair[0] > most]
    return [
        {"set": one, "of": GROUPS[group], "better model to prismap": points, "+-": error}
        for (points, error), one, group in sorted(far, reverse=True)
    ]


# --- seen rows and structure ------------------------------------------------------------------------------------------


def of_protocol(lines):
    """Who leads by seen rows, and what its map of permuted labels invents."""
    first = next(iter(ordered(lines, "seen, 10")), {"method": "-", "new rows": ""})
    names = {"seen": "seen, 10", "gain": "gain, seen", "new": "new, 10", "invented": "invented"}
    return {"first_seen": first["method"]} | {
        f"{key}_of_first": cell_of(first, column) or "-" for key, column in names.items()
    }


def of_structure(lines):
    """The three methods that are highest by each measure."""
    maps = [line for line in lines if line["method"] != "no map"]
    return {
        f"best_{key.lower()}": listed([
            f"{line['method']} {cell_of(line, key)}" for line in ordered(maps, key)[:3] if line.get(key) is not None
        ]) for key in ("R_NX", "local", "global")
    }  # fmt: skip


# --- statements, units, our sets --------------------------------------------------------------------------------------


def of_judging(rows):
    """What own rows show, what is true, and what is stated."""
    kept = [row for own in judged_sets(rows).values() for row in own]
    true = [row for row in kept if "true" in row]
    if not true:
        return {}
    lines = [line for line in judged_table(rows) if line["shown, off by"] != ""]
    worst = max(lines, key=lambda line: line["shown, off by"])
    closer = [line["method"] for line in lines if line["shown, off by"] < line["stated, off by"]]
    texts = {"flatterer": worst["method"], "n_judged": worst["tables"]}
    texts |= {f"flatterer_{key}": f"{worst[key]:.1f}" for key in ("shown", "true", "stated")}
    texts |= {
        f"{key}_off": f"{np.mean([abs(row[key] - row['true']) for row in true]):.1f}" for key in ("shown", "stated")
    }
    texts["shown_closer"] = listed(closer) or "no method"
    texts["stated_noise"] = f"{np.mean([noise(row) for row in true]):.1f}"
    others = [row for row in kept if "permuted: shows" in row]
    flattering = [row for row in others if row["permuted: shown"] < 0.5 * row.get("permuted: true", 0)]
    texts |= {"n_permuted": len(others), "false_shows": count(others, "permuted: shows")}
    return texts | {"n_flattering": len(flattering), "warned": count(flattering, "permuted: exaggerates")}


def noise(row):
    """The standard error of a share of a fifth of the fitted rows, in points."""
    share = np.clip(row["true"] / 100, 0.01, 0.99)
    return 100 * np.sqrt(share * (1 - share) / max(row["rows"] / 5, 1))


def of_units(rows):
    """New rows and new units, and who differs from the default by more than two standard errors."""
    lines = {line["method"]: line for line in units_table(rows)}
    names = {"units": "new units", "coins_rows": "coins: new rows", "coins_units": "coins: new units"}
    texts = {key: Known({name: f"{line[column]:.1f}" for name, line in lines.items()}) for key, column in names.items()}
    means = {name: (line["to prismap"], line["+-"]) for name, line in lines.items() if line["to prismap"] != ""}
    ahead = [named(name, mean) for name, mean in means.items() if mean[0] > 2 * mean[1]]
    below = [named(name, mean) for name, mean in means.items() if mean[0] < -2 * mean[1]]
    words = "By more than two standard errors, {} is ahead of the default on new units, and {} behind."
    return texts | {"units_compared": words.format(listed(ahead) or "nothing", listed(below) or "nothing")}


def of_our_sets(rows):
    """The same as for the tables, of our sets."""
    texts = {"new": columns_of(league_of("our sets", rows))["new"]} | of_differences(pairs_of(rows, "our sets"))
    return {f"our_{key}": value for key, value in texts.items()}


# --- what is missing --------------------------------------------------------------------------------------------------


def undone(rows):
    """Which methods were not measured, in words; the table of parts has all of it."""
    groups = {
        words: [name for name in METHODS if name != UNITS_TOLD and name not in by_method(rows, group)]
        for group, words in GROUPS.items()
    }
    parts = [f"on {words} {listed(names)}" for words, names in groups.items() if names]
    return f"Not measured for want of time: {'; '.join(parts)}." if parts else ""


def failures(rows):
    """Maps that could not be made or that place nothing, in words."""
    reasons = {}
    for group in (*GROUPS, "judged"):
        for name, own in by_method(rows, group).items():
            for one, row in own.items():
                for key in ("failed", "permuted: failed"):
                    if row.get(key):
                        reasons.setdefault((name, row[key]), []).append(one)
    words = [f"{name} on {listed(dict.fromkeys(sets))} ({why})" for (name, why), sets in reasons.items()]
    return f"{'; '.join(words)}." if words else "No map failed."
