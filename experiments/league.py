"""The league: every method on the field's own benchmark, with its protocol and with an honest one.

The 27 different tables of Rhodes, Aumon, Morin et al. (2024, RF-PHATE), at most 700 rows of each, and the 30 sets of
[the field](field.md). Each map is made of about 70 % of the rows, and judged twice. *Seen* is the protocol of that
paper: the map has seen all labels, and % of its own rows are told right by their 10 (or 1) nearest others on the map.
*New* is held out: % of the other 30 % told right by their nearest fitted rows, where the method itself places them.
*To prismap*: points of new rows (by ten) ahead of prismap, the mean of paired differences over the sets, and *+-* its
standard error over the sets. *Invented*: seen, after a fit to permuted labels, minus what permuted labels give without
any map; *gain, seen*: points beyond the same neighbours in the data ("no map"). *Balanced*: error of new rows in %,
the mean over the classes. *R_NX*: area under the curve against the data. Tables are means over the sets. A set has one
to three splits, as many as it takes to judge some 200 new rows, with one permutation each; methods that have as many
*splits* as *sets* were measured earlier, with the first split of each set alone, and are not compared in pairs.
Standard errors on a set are those of paired differences of its new rows; several splits count as if two of them had
half of these in common.

*Local* and *global* are the paper's measures of structure that matters, on at most 250 fitted rows with three
permutations of each feature. A feature matters for the classes by what permuting it costs the accuracy of 10 neighbours
in the data, and for the map by what it costs the R2 of the mean position of 10 neighbours in the data (each row is one
of its own). *Local* is Spearman's correlation of the two over the features. *Global* is that of the former with the
rank correlation of distances in the feature and on the map. Categories count as one feature.

All methods are those of `prismap compare`, with their defaults but for perplexities that few rows do not allow and
CEBRA's steps (1,000 of 10,000). Features have variance 1, categories as a block, and gaps get the median. RF-PHATE has
the RF-GAP proximities of the PyPI package forestgeom (500 trees) and the authors' random jumps, which are our lines on
the package phate. Its new rows lie at the most central of the ten fitted rows with the largest proximities, our own
reading, because PHATE of proximities places none. *Own reading* is said of methods that have no package, and of
placements that are ours. Seconds are those of the processor for a fit with its new rows, in the median over sets and
splits; MB is the most that a process had which made all maps, packages included.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from scipy.spatial.distance import pdist
from scipy.stats import rankdata, spearmanr
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import r2_score
from sklearn.svm import SVC

from experiments import league_methods, league_sets
from experiments.field_sets import BUNDLED, GENERATED, STORED
from experiments.league_methods import METHODS, NONE, OWN, UNITS_TOLD
from experiments.ledger import RESULTS, main, markdown, rows_path
from prismap.bundle import written_aside
from prismap.quality import r_nx
from prismap.quality._votes import vote_on

READING = """
**New rows.** On the {of[n_tables]} tables the default tells {of[new][prismap]} % of the new rows right by ten
neighbours on its map; the others: {of[ranking]}. By the paired differences over the tables, these are ahead of it by
more than two standard errors: {of[surely_ahead]}. These are behind: {of[surely_behind]}. The rest cannot be told from
it by these tables. By the mean over the classes the error of the default is {of[balanced][prismap]} %, that of
RF-t-SNE {of[balanced][RF-t-SNE (own reading)]}, of RF-PHATE {of[balanced][RF-PHATE]} and of the forest
{of[balanced][forest, all features]}.

**The protocol makes the winner.** By rows that the map has seen, {of[first_seen]} leads with {of[seen_of_first]} %,
{of[gain_of_first]} points more than the neighbours in the data. Of new rows it tells {of[new_of_first]} % right, and
the neighbours in the data {of[new][no map]}. With permuted labels its own rows are told right {of[invented_of_first]}
points beyond chance, so that what its own rows show says little about the data. The published form of Fisher t-SNE,
whose posterior has seen the rows that it judges, has the same trouble: {of[seen][prismap, as published]} % seen,
{of[new][prismap, as published]} new, {of[invented][prismap, as published]} points invented. Points invented by the
methods that get labels: {of[inventing]}.

**Maps of a forest's proximities** are the rivals to look at: RF-t-SNE (our own reading) has
{of[seen][RF-t-SNE (own reading)]} % seen and {of[new][RF-t-SNE (own reading)]} new, RF-PHATE {of[seen][RF-PHATE]} and
{of[new][RF-PHATE]}. To the default they are {of[to][RF-t-SNE (own reading)]} and {of[to][RF-PHATE]} points, means and
standard errors over the tables. They are ahead of it by more than a standard error on
{of[ahead][RF-t-SNE (own reading)]} and on {of[ahead][RF-PHATE]}, and behind on {of[n_behind][RF-t-SNE (own reading)]}
and on {of[n_behind][RF-PHATE]}. Their new rows are placed by our own reading: of digits, on which it was chosen, the
mean of all positions by proximities, as PHATE interpolates, told some twenty points fewer right.

**Where the default is behind.** Rivals that are ahead by more than a standard error of the paired difference on more
than two tables: {of[often_ahead]}. By two errors, on more than two: {of[often_surely_ahead]}. The better of forest and
support vector machine is ahead of the map by at most 3 points on {of[within_3]} of {of[n_sets]} sets, the tables and
ours, and by at most 6 on {of[within_6]}. It is ahead by more than 3 on: {of[above_3]}. On parkinsons, recordings of 32
people, the new rows are of people who are on the map, in the field's protocol; the table of rows that belong together
has new people. [The ceiling](ceiling.md) has three splits of every set, and where points are lost.

**What maps say of themselves.** On ten tables, own rows of {of[flatterer]} show an error of {of[flatterer_shown]} %
where it is {of[flatterer_true]} for new rows; `judge`, which sees the fitted rows only, states {of[flatterer_stated]}.
Over all methods, what own rows show is off by {of[shown_off]} points in the mean, and what `judge` states by
{of[stated_off]}: of a fifth of the rows, which is what a quick verdict judges, the standard error alone is
{of[stated_noise]}. Of maps of permuted labels it said that the target shows in {of[false_shows]} of {of[n_permuted]}.
It said of {of[told_flattery]} of {of[n_flattering]} maps of permuted labels that they exaggerate whose own rows show
an error of less than half the true one.

**Structure.** Neighbourhoods of the data are kept best by {of[best_r_nx]}; the default has an R_NX of
{of[R_NX][prismap]}, RF-PHATE {of[R_NX][RF-PHATE]}. The paper's *local* measure is highest for {of[best_local]} (the
default: {of[local][prismap]}). It is one of seen rows, and does not notice what is invented. *Global* is highest for
{of[best_global]} (the default: {of[global][prismap]}, `supervision="max"` {of[global][prismap, max]}).

**Units.** Where rows come in units, methods look better on new rows of known units than on new units. Coins of units,
of which nothing can be known, are told right for {of[coins_rows][prismap]} % of new rows by the default and
{of[coins_rows][supervised UMAP]} % by supervised UMAP; of new units, for {of[coins_units][prismap]} and
{of[coins_units][supervised UMAP]} %. Over all seven sets, new units are told {of[units][prismap]} % by the default,
{of[units][supervised UMAP]} by supervised UMAP, {of[units][RF-PHATE]} by RF-PHATE, {of[units][no map]} in the data,
and {of[units][prismap, units told]} by the default that is told the units by `groups=`. {of[units_compared]}

**Our own sets.** The default tells {of[our_new][prismap]} % of the new rows right; the others: {of[our_ranking]}. [The
field](field.md) has some of them over three splits.

**What this is not.** There are one to three splits of each set, with one permutation each. Single tables with few new
rows say little, and rows that two splits share make three of them worth less than three. iris, wine and car are among
the sets that were looked at when the thresholds of the default were found, and [the ceiling](ceiling.md) was worked on
with these very tables and sets. Left out altogether: ncvis, which has no wheel for this Python and could not be built,
and the authors' package rfphate, which is not on PyPI. PHATE's failures are in the check for duplicates of the package
graphtools. {of[undone]} {of[failures]}
"""
SHOWS_ALL = True
COMMAND = "make league DATA=FOLDER PEERS=PYTHON"
#: Splits at most, and new rows over which there are no more splits; of units; what two splits are taken to share.
N_SPLITS, ENOUGH_NEW, SPLITS_OF_UNITS, SHARED, N_NULLS = 3, 200, 2, 0.5, 10
#: Tables on which what maps say of themselves is judged, too: small ones, easy and hard, of few classes and of many.
JUDGED = (
    "diabetes", "ecoli_5", "glass", "heart_disease", "heart_failure", "ionosphere", "lymphography", "seeds",
    "tic-tac-toe", "wine",
)  # fmt: skip
ROWS_OF_STRUCTURE, N_PERMUTED, N_NEAREST = 250, 3, 10
#: Means over sets.
MEANS = ("new, 10", "new, 1", "balanced", "seen, 10", "invented", "R_NX", "local", "global")
#: The table of a page.
COLUMNS = (
    "method", "labels", "new rows", "new, 10", "to prismap", "+-", "new, 1", "balanced", "seen, 10", "gain, seen",
    "invented", "R_NX", "local", "global", "seconds", "MB", "sets", "splits",
)  # fmt: skip
#: Figures of which a page has two decimals, as text.
SMALL = ("R_NX", "local", "global", "seconds")
MODELS = {"forest, all features": RandomForestClassifier(200, random_state=0), "SVM, all features": SVC()}


# --- maps -------------------------------------------------------------------------------------------------------------


def maps_of(name, jobs, options):
    """Results of a method for jobs (X, y, new and, where it is told, units), in a process of its own."""
    python = options.peers if METHODS[name].peers else sys.executable
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder) / "in.npz", Path(folder) / "out.npz"
        fields = league_methods.Job._fields
        np.savez(source, **{
            f"{field}{k}": part for k, job in enumerate(jobs) for field, part in zip(fields, job, strict=False)
            if part is not None
        })  # fmt: skip
        subprocess.run(
            [python, league_methods.__file__, name, source, made], check=True, stdout=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": str(RESULTS.parents[1] / "src")},
        )  # fmt: skip
        with np.load(made, allow_pickle=False) as file:
            found = {key: file[key] for key in file.files}
    kinds = ("Y", "Z", "seconds", "memory", "failed", "judged")
    return [{kind: found[f"{kind}{k}"] for kind in kinds if f"{kind}{k}" in found} for k in range(len(jobs))]


def sets_of(group, options):
    """Names of the sets of a group, as far as they can be had."""
    if options.quick:
        return {"league": (), "our sets": league_sets.QUICK, "units": league_sets.WITHOUT_FILE[:1]}[group]
    if group == "league":
        return league_sets.TABLES if options.data else ()
    if group == "units":
        return tuple(league_sets.UNITS) if options.data else league_sets.WITHOUT_FILE
    return (*GENERATED, *BUNDLED, *(STORED if options.data else ()))


def cases_of(group, name, options):
    """The splits of a set: as many as it takes to judge some 200 new rows, one to three."""

    def case_of(split):
        if group == "league":
            return league_sets.table_case(name, options.data, split)
        return league_sets.field_case(name, options.data, split, quick=options.quick)

    first = case_of(0)
    more = 0 if options.quick else min(N_SPLITS, -(-ENOUGH_NEW // len(first.y_new))) - 1
    return [first, *(case_of(split) for split in range(1, 1 + more))]


# --- figures ----------------------------------------------------------------------------------------------------------


def right(Y, y, k, Z=None, y_new=None):
    """Whether fitted rows at Y tell the class of each other, or of rows at Z; a half where two classes draw."""
    n_classes = int(max(y.max(), 0 if y_new is None else y_new.max())) + 1
    if Z is None:
        return vote_on(Y, Y, y, n_classes, n_neighbors=k, own=np.arange(len(y))).right(y)
    return vote_on(Z, Y, y, n_classes, n_neighbors=k).right(y_new)


def permuted(y):
    """The labels in another order, the same for all methods."""
    return np.random.default_rng(1).permutation(y)


def chance(y, k):
    """% that permuted labels give where they had no influence: on points anywhere."""
    rng = np.random.default_rng(2)
    anywhere = rng.normal(size=(len(y), 2))
    return 100 * float(np.mean([right(anywhere, rng.permutation(y), k) for _ in range(N_NULLS)]))


def figures(case, made, with_permuted, *, first=True):
    """What the map of one split shows, and the map of permuted labels; structure of the first split alone."""
    Y, other, row = made["Y"], permuted(case.y), {}
    for k in (1, 10):
        row[f"seen, {k}"] = 100 * right(Y, case.y, k).mean()
        told = 100 * right(with_permuted["Y"], other, k).mean() if "Y" in with_permuted else np.nan
        row["invented" if k == 10 else "invented, 1"] = told - chance(case.y, k)
    if "Z" in made:
        by_one, by_ten = (right(Y, case.y, k, made["Z"], case.y_new) for k in (1, 10))
        row |= {"new, 1": 100 * by_one.mean(), "new, 10": 100 * by_ten.mean(), "balanced": balanced(by_ten, case.y_new)}
        row["told"] = tenths(by_ten)
    row["R_NX"] = float(r_nx(case.X, Y).auc_log_k)
    return row | (structure(case, Y) if first else {})


def tenths(hits):
    """The chance that each row is told right, as a text of a digit each: 9 is right, 0 is wrong."""
    return "".join(str(round(9 * hit)) for hit in hits)


def chances(text):
    """The chances of such a text, as nearly as a digit has them."""
    return np.array([int(digit) for digit in text]) / 9


def balanced(hits, y):
    """Error in %, the mean over the classes that occur."""
    return 100 * float(np.mean([1 - hits[y == one].mean() for one in np.unique(y)]))


def structure(case, Y):
    """The paper's local and global structure preservation; nothing with fewer than three features."""
    if len(case.blocks) < 3:
        return {}
    rows = np.random.default_rng(3).permutation(len(Y))[:ROWS_OF_STRUCTURE]
    X, Y, y = case.X[rows], Y[rows], case.y[rows]
    for_classes, for_map = importances(X, Y, y, case.blocks)
    apart = rankdata(pdist(Y))
    follows = [np.corrcoef(rankdata(pdist(X[:, block])), apart)[0, 1] for block in case.blocks]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a feature that is constant here has no correlation
        local = [spearmanr(a, b).statistic for a, b in zip(for_classes, for_map, strict=True)]
        wide = [spearmanr(a, follows, nan_policy="omit").statistic for a in for_classes]
    return {"local": float(np.mean(local)), "global": float(np.mean(wide))}


def importances(X, Y, y, blocks):
    """What permuting a feature costs: accuracy of the classes, and R2 of positions; (permutations, features)."""
    rng = np.random.default_rng(4)
    D, shares = squares(X, X), np.eye(y.max() + 1)[y]
    Y = (Y - Y.mean(axis=0)) / np.maximum(Y.std(axis=0), 1e-12)

    def scores(D):
        near = np.argpartition(D, N_NEAREST, axis=1)[:, :N_NEAREST]
        told = shares[near].sum(axis=1).argmax(axis=1) == y
        return np.array([told.mean(), r2_score(Y, Y[near].mean(axis=1))])

    before, lost = scores(D), np.empty((2, N_PERMUTED, len(blocks)))
    for turn in range(N_PERMUTED):
        for place, block in enumerate(blocks):
            part = X[:, block]
            moved = D - squares(part, part) + squares(rng.permutation(part), part)
            lost[:, turn, place] = before - scores(moved)
    return lost


def squares(A, B):
    """Squared distances."""
    return np.maximum(np.square(A).sum(axis=1)[:, None] + np.square(B).sum(axis=1) - 2 * A @ B.T, 0)


# --- parts ------------------------------------------------------------------------------------------------------------


def rows_of(method, group, options):
    """One row per set, the mean of its splits."""
    if METHODS[method].peers and not options.peers:
        yield {"set": "needs --peers"}
        return
    aware = METHODS[method].labels
    cases = {name: cases_of(group, name, options) for name in sets_of(group, options)}
    jobs = []
    for case in (case for splits in cases.values() for case in splits):
        jobs.append((case.X, case.y, case.new))
        jobs += [(case.X, permuted(case.y), case.new[:2])] if aware else []
    results = iter(maps_of(method, jobs, options))
    for name, splits in cases.items():
        runs, reasons = [], []
        for place, case in enumerate(splits):
            made = next(results)
            other = next(results) if aware else made
            if "Y" in made:
                seconds = {"seconds": float(made["seconds"]), "MB": float(made["memory"])}
                runs.append(figures(case, made, other, first=not place) | seconds)
            reasons += [str(one["failed"]) for one in (made, other) if "failed" in one]
        yield row_of(name, splits, runs, reasons)


def row_of(name, splits, runs, reasons):
    """The mean of the runs that made a map."""
    row = {"set": name, "rows": len(splits[0].y), "held out": len(splits[0].y_new), "splits": len(splits)}
    told = [run.pop("told") for run in runs if "told" in run]
    for key in dict.fromkeys(key for run in runs for key in run):
        value = float(np.mean([run[key] for run in runs if key in run]))
        row[key] = "" if not np.isfinite(value) else f"{value:.2f}" if key in SMALL else round(value, 2)
    row |= {"told": told} if told else {}
    return row | ({"failed": "; ".join(dict.fromkeys(reasons))} if reasons else {})


def rows_of_models(group, options):
    """Held-out rows told right by models of all features."""
    warnings.simplefilter("ignore")
    for name in sets_of(group, options):
        splits = cases_of(group, name, options)
        for label, model in MODELS.items():
            hits = [(model.fit(case.X, case.y).predict(case.new) == case.y_new).astype(float) for case in splits]
            errors = [balanced(one, case.y_new) for one, case in zip(hits, splits, strict=True)]
            share = round(100 * float(np.mean([one.mean() for one in hits])), 2)
            row = {"model": label, "set": name, "new, 10": share, "balanced": round(float(np.mean(errors)), 2)}
            yield row | {"told": [tenths(one) for one in hits]}


def rows_of_units(method, options):
    """One row per set whose rows belong together: new rows of known units, and new units."""
    if METHODS[method].peers and not options.peers:
        yield {"set": "needs --peers"}
        return
    splits = range(1 if options.quick else SPLITS_OF_UNITS)
    cases = {
        name: [tuple(league_sets.unit_cases(name, options.data, split)) for split in splits]
        for name in sets_of("units", options)
    }
    jobs = [
        (case.X, case.y, case.new, *((case.units,) if method == UNITS_TOLD else ()))
        for pairs in cases.values() for pair in pairs for case in pair
    ]  # fmt: skip
    results = iter(maps_of(method, jobs, options))
    for name, pairs in cases.items():
        by_rows, by_units, seen, of_unit = [], [], [], []
        for of_rows, of_units in pairs:
            for case, into in ((of_rows, by_rows), (of_units, by_units)):
                made = next(results)
                if "Z" not in made:
                    continue
                hits = right(made["Y"], case.y, 10, made["Z"], case.y_new)
                into.append(100 * hits.mean())
                if case is of_rows:
                    seen.append(100 * right(made["Y"], case.y, 10).mean())
                else:
                    of_unit.append([round(float(m), 3) for m in means_of_units(hits, case.new_units)])
        biggest = [100 * np.bincount(pair[1].y_new).max() / len(pair[1].y_new) for pair in pairs]
        first = pairs[0][1]
        row = {"set": name, "units": len(np.unique(first.units)) + len(np.unique(first.new_units))}
        figures_of = {"seen": seen, "new rows": by_rows, "new units": by_units}
        row |= {key: round(float(np.mean(values)), 1) for key, values in figures_of.items() if values}
        if of_unit:
            row["error, by units"] = round(100 * standard_error(of_unit), 1)
        yield row | {"largest class": round(float(np.mean(biggest)), 1), "told": of_unit}


def means_of_units(hits, units):
    """The share of each unit's rows that are told right."""
    return [hits[units == one].mean() for one in np.unique(units)]


def standard_error(splits):
    """Of the mean over splits, each a list of figures of rows or units that are independent of each other.

    Splits share rows. They count as if two had half of their new rows in common: on the tables it is 30 %.
    """
    variance = np.mean([np.var(one, ddof=1) / len(one) for one in splits])
    return float(np.sqrt(variance * (1 + SHARED * (len(splits) - 1)) / len(splits)))


def rows_of_judging(method, options):
    """What own rows show, what new rows say, and what `judge` says of a method on the fitted rows; permuted, too."""
    how = METHODS[method]
    if how.peers and not options.peers:
        yield {"set": "needs --peers"}
        return
    group = "our sets" if options.quick else "league"
    names = sets_of(group, options) if options.quick else JUDGED
    cases = [(name, cases_of(group, name, replace(options, quick=True))[0]) for name in names]
    jobs = [
        (case.X, y, case.new, None, True) for _, case in cases for y in (case.y, permuted(case.y))
    ]  # fmt: skip
    results = iter(maps_of(method, jobs, options))
    for name, case in cases:
        row = {"set": name, "rows": len(case.y)}
        for words, y in (("", case.y), ("permuted: ", permuted(case.y))):
            made = next(results)
            if "judged" not in made:
                row[f"{words}failed"] = str(made.get("failed", ""))
                continue
            said = json.loads(str(made["judged"]))
            if "failed" in said:
                row[f"{words}failed"] = f"judging: {said['failed']}"
                continue
            row |= {words + key: value for key, value in judged_figures(case, y, made, said).items()}
        yield row


def judged_figures(case, y, made, said):
    """Errors in %, by the vote and the measure of the statement: shown by own rows, true for new ones, stated."""
    n_classes = int(max(y.max(), case.y_new.max())) + 1
    own = vote_on(made["Y"], made["Y"], y, n_classes, own=np.arange(len(y))).right(y)
    evenly = said.get("measure", "").startswith("balanced")
    row = {"shown": balanced(own, y) if evenly else 100 * (1 - own.mean())}
    if "Z" in made:
        new = vote_on(made["Z"], made["Y"], y, n_classes).right(case.y_new)
        row["true"] = balanced(new, case.y_new) if evenly else 100 * (1 - new.mean())
    row |= {key: round(value, 1) for key, value in row.items()}
    stated = {"stated": round(said["stated"], 1)} if said.get("stated") is not None else {}
    return row | stated | {"shows": answer(said["shows"]), "exaggerates": answer(said["exaggerates"])}


def answer(value):
    """Yes, no or cannot tell."""
    return "cannot tell" if value is None else "yes" if value else "no"


# --- the page ---------------------------------------------------------------------------------------------------------


def part_name(method, group):
    """What a part is called."""
    return f"{method}, {group}"


def rows_in(out):
    """The rows of all parts that were done, by part."""
    paths = {part: rows_path(sys.modules[__name__], part, out) for part in PARTS}
    return {part: json.loads(path.read_text(encoding="utf-8"))["rows"] for part, path in paths.items() if path.exists()}


def by_method(rows, group):
    """Rows by method or model of a group, then by set, of those that made a map."""
    found = {}
    for method in METHODS:
        kept = {row["set"]: row for row in rows.get(part_name(method, group), ()) if "set" in row and len(row) > 2}
        found |= {method: kept} if kept else {}
    for row in rows.get(part_name("models", group), ()):
        found.setdefault(row["model"], {})[row["set"]] = row
    return found


def gap(one, other):
    """By how many points a row is ahead of another of the same set, and the standard error of the paired difference."""
    differences = [difference(a, b) for a, b in zip(one["told"], other["told"], strict=True)]
    return 100 * float(np.mean([d.mean() for d in differences])), 100 * standard_error(differences)


def difference(one, other):
    """Paired differences of what rows or units were told."""
    return np.subtract(*(chances(told) if isinstance(told, str) else told for told in (one, other)))


def gaps(kept, name, other="prismap"):
    """Points ahead of another method and their standard errors, by set."""
    if name == other or not {name, other} <= set(kept):
        return {}
    ours = {one: row["told"] for one, row in kept[other].items() if row.get("told")}
    return {  # a method that placed nothing in one of the splits is not compared on the set
        one: gap(row, kept[other][one]) for one, row in kept[name].items()
        if row.get("told") and len(row["told"]) == len(ours.get(one, ()))
    }  # fmt: skip


def overall(pairs):
    """The mean of points ahead over sets and its standard error over sets."""
    points = [points for points, _ in pairs.values()]
    return (float(np.mean(points)), float(np.std(points, ddof=1) / np.sqrt(len(points)))) if len(points) > 1 else None


def league_of(group, rows):
    """One line per method and model, the means over its sets, best first: new rows by ten neighbours."""
    kept, lines = by_method(rows, group), []
    for name, own in kept.items():
        sets = [row for row in own.values() if "new, 10" in row or "seen, 10" in row]
        if not sets:
            continue
        how = METHODS.get(name)
        line = {"method": name, "labels": "yes" if how is None or how.labels else "no"}
        line["new rows"] = OWN if how is None else how.placing
        line |= {key: mean_of(sets, key) for key in MEANS}
        if both := [row["seen, 10"] - kept["no map"][row["set"]]["seen, 10"] for row in sets
                    if "seen, 10" in row and row["set"] in kept.get("no map", {})]:  # fmt: skip
            line["gain, seen"] = float(np.mean(both))
        if mean := overall(gaps(kept, name)):
            line |= dict(zip(("to prismap", "+-"), mean, strict=True))
        if how is not None:
            line["seconds"] = float(np.median([float(row["seconds"]) for row in sets]))
            line["MB"] = max(row["MB"] for row in sets)
        lines.append(line | {"sets": len(sets), "splits": sum(len(row.get("told", "1")) for row in sets)})
    return sorted(lines, key=lambda line: -(line["new, 10"] if line.get("new, 10") is not None else -1))


def mean_of(rows, key):
    """The mean over the sets that have the figure; None if none has."""
    values = [float(row[key]) for row in rows if row.get(key, "") != ""]
    return float(np.mean(values)) if values else None


def written(line):
    """A line of the league as a page has it."""
    shown = {}
    for key in COLUMNS:
        value = line.get(key)
        if value is None:
            shown[key] = NONE if line["new rows"] == NONE and key in ("new, 10", "new, 1", "balanced") else ""
        elif key in SMALL:
            shown[key] = f"{value:.2f}"
        else:
            shown[key] = f"{value:.0f}" if key == "MB" else round(value, 1) + 0.0 if isinstance(value, float) else value
    return shown


def ahead(group, rows):
    """Per method, on how many sets it is ahead of the default and behind it, by more than one and two errors."""
    kept = by_method(rows, group)
    for name in kept:
        pairs = gaps(kept, name)
        if not pairs:
            continue
        line = {"method": name, "sets": len(pairs)}
        for errors, words in ((1, "one error"), (2, "two errors")):
            line[f"ahead by {words}"] = len(further(pairs, errors))
            line[f"behind by {words}"] = sum(points < -errors * error for points, error in pairs.values())
        yield line | {"ahead by one error on": ", ".join(further(pairs, 1))}


def further(pairs, errors):
    """Sets on which one is ahead by more than so many standard errors."""
    return [one for one, (points, error) in pairs.items() if points > max(errors * error, 1e-9)]


def units_table(rows):
    """New rows and new units by method, means over the sets; to the default, with errors by units."""
    kept = by_method(rows, "units")
    for name, own in kept.items():
        sets = [row for row in own.values() if "new units" in row]
        if not sets:
            continue
        coins = [row for row in sets if row["set"].startswith("coins")]
        line = {"method": name} | {key: mean_of(sets, key) for key in ("seen", "new rows", "new units")}
        pairs = gaps(kept, name)
        line["to prismap"] = float(np.mean([points for points, _ in pairs.values()])) if pairs else ""
        line["+-"] = float(np.linalg.norm([error for _, error in pairs.values()]) / len(pairs)) if pairs else ""
        line |= {f"coins: {key}": mean_of(coins, key) for key in ("seen", "new rows", "new units")}
        yield line | {"sets": len(sets), "splits": sum(len(row.get("told", "1")) for row in sets)}


def judged_table(rows):
    """What maps show, what is true, and what `judge` says, means and counts over the judged tables."""
    for name, own in by_method(rows, "judged").items():
        sets = [row for row in own.values() if "stated" in row]
        if not sets:
            continue
        line = {"method": name} | {key: mean_of(sets, key) for key in ("shown", "true", "stated")}
        for key in ("shown", "stated"):
            off = [abs(row[key] - row["true"]) for row in sets if "true" in row]
            line[f"{key}, off by"] = float(np.mean(off)) if off else ""
        line |= {f"judge: {key}": count(sets, key) for key in ("shows", "exaggerates")}
        others = [row for row in sets if "permuted: shown" in row]
        line |= {f"permuted: {key}": mean_of(others, f"permuted: {key}") for key in ("shown", "true", "stated")}
        line |= {f"permuted: judge: {key}": count(others, f"permuted: {key}") for key in ("shows", "exaggerates")}
        yield {key: "" if value is None else value for key, value in line.items()} | {"tables": len(sets)}


def count(rows, key):
    """How often the answer is yes."""
    return sum(row.get(key) == "yes" for row in rows)


def ceiling(group, rows):
    """Points by which the better of the models of all features is ahead of the default and its error, by set."""
    kept = by_method(rows, group)
    by_model = [gaps(kept, model) for model in MODELS]
    sets = [one for one in by_model[0] if all(one in pairs for pairs in by_model)]
    return {one: max(pairs[one] for pairs in by_model) for one in sets}


def by_set(group, rows):
    """One line per set: % of new rows told right by each method."""
    kept, above = by_method(rows, group), ceiling(group, rows)
    kept = {name: own for name, own in kept.items() if any("new, 10" in row for row in own.values())}
    for one, row in kept.get("no map", {}).items():
        line = {"set": one, "rows": row["rows"], "new": row["held out"], "splits": row.get("splits", 1)}
        line |= {name: own.get(one, {}).get("new, 10", "") for name, own in kept.items()}
        points, error = above.get(one, ("", ""))
        yield line | {"better model to prismap": points, "+-": error}


def page_summary(out):
    """The league as a table per group of sets, whom the default is behind, judging, units, and the picture."""
    blocks, rows = [], rows_in(out)
    for group, words in GROUPS.items():
        if lines := league_of(group, rows):
            blocks += [f"## {words}", markdown([written(line) for line in lines])]
            if group == "league":
                draw(lines, out / "league.png")
                blocks += ["![league](league.png)"] if (out / "league.png").exists() else []
        if compared := list(ahead(group, rows)):
            blocks += [AHEAD_IN_WORDS.strip(), markdown(compared)]
    if lines := list(judged_table(rows)):
        blocks += ["## What maps say of themselves", JUDGED_IN_WORDS.strip(), markdown(lines)]
    if lines := list(units_table(rows)):
        blocks += ["## Rows that belong together", UNITS_IN_WORDS.strip(), markdown(lines)]
    for group, words in GROUPS.items():
        if lines := list(by_set(group, rows)):
            blocks += [f"## {words}, one by one", BY_SET_IN_WORDS.strip(), markdown(lines)]
    return "\n\n".join(blocks)


def draw(lines, path):
    """One mark per method: new rows told right, against what it invents; a line for what needs no map."""
    import matplotlib.pyplot as plt

    told = [line for line in lines if line.get("new, 10") is not None]
    levels = [line for line in told if line["method"] in (*MODELS, "no map")]
    shown = [line for line in told if line.get("invented") is not None and line not in levels]
    shown.sort(key=lambda line: line["new, 10"])
    if not shown:
        return
    figure, ax = plt.subplots(figsize=(7.6, 5.4), layout="constrained")
    widest, spacing = max(line["invented"] for line in shown), (shown[-1]["new, 10"] - shown[0]["new, 10"]) / 26
    for line in levels:
        words = line["method"].replace("no map", "ten neighbours in the data")
        ax.axhline(line["new, 10"], color="0.85", linewidth=1, zorder=0)
        ax.text(widest, line["new, 10"], words, fontsize=7, color="0.5", ha="right", va="bottom")
    lowest = {}  # names stand above each other in the left half and in the right one
    for line in shown:
        x, y = line["invented"], line["new, 10"]
        colour = "tab:blue" if line["labels"] == "yes" else "0.6"
        ax.scatter(x, y, s=45, color="tab:red" if line["method"].startswith("prismap") else colour)
        right = x > widest / 2
        height = max(y, lowest.get(right, -np.inf) + spacing)
        lowest[right] = height
        beside = x - 0.03 * widest if right else max(x + 0.03 * widest, 0.1 * widest)
        ax.annotate(
            line["method"], (x, y), (beside, height), fontsize=8, va="center", ha="right" if right else "left",
            arrowprops={"arrowstyle": "-", "color": "0.8"},
        )  # fmt: skip
    ax.set(
        xlabel="invented: permuted labels told right beyond chance among the fitted rows, points",
        ylabel="new rows told right by ten neighbours, %", title="27 tables of the field; grey: maps without labels",
    )  # fmt: skip
    with written_aside(path) as aside:
        figure.savefig(aside, dpi=110, format="png")
    plt.close(figure)


AHEAD_IN_WORDS = """
On how many sets a method is ahead of prismap or behind it, by ten neighbours of new rows and by more than one or two
standard errors of the paired difference on the set. Of two methods that are equally good, one is ahead by one error on
16 % of the sets, and by two on 2 %.
"""
JUDGED_IN_WORDS = """
Ten tables, one split. Errors in %, by the measure that the report rests on: *shown* by the fitted rows to a reader of
the map, *true* for new rows where the method places them, *stated* by `prismap.judge(method, X, y, budget="quick")`,
which saw the fitted rows only. *Off by*: the mean distance from the truth. *Judge: shows* and *exaggerates*: on how
many tables it says that the target shows, and that the map makes it look clearer than it is. The same with permuted
labels, of which nothing can show.
"""
UNITS_IN_WORDS = """
Seven sets whose rows come in units, two splits, or one of methods that were measured earlier. *New rows*: 30 % of the
rows, whose units are on the map with other rows. *New units*: 30 % of the units with all their rows. Two of the sets
have one coin per unit as its label, so that a new unit cannot be told (50 %). "units told" gets the units by
`groups=`. *To prismap*: points of new units ahead of it, with a standard error that goes by units.
"""
BY_SET_IN_WORDS = """
% of new rows told right by ten neighbours; last, by how many points the better of forest and support vector machine is
ahead of prismap, with the standard error of the paired difference. (The better of two is known afterwards only, which
favours it.)
"""
# --- figures of the text ----------------------------------------------------------------------------------------------


class Known(dict):
    """Texts by name; "-" for what was not measured."""

    def __missing__(self, name):
        return "-"


def figures_of_text(found):
    """All that `READING` names, from the rows."""
    rows = {part: kept["rows"] for part, kept in found.items()}
    lines, kept = league_of("league", rows), by_method(rows, "league")
    texts = columns_of(lines) | {"n_tables": len(kept.get("prismap", ())), "ranking": ranked(lines)}
    pairs = {name: own for name in kept if (own := gaps(kept, name))}
    means = {name: mean for name, own in pairs.items() if (mean := overall(own))}
    texts["to"] = Known({name: signed(*mean) for name, mean in means.items()})
    texts["surely_ahead"], texts["surely_behind"] = surely(means)
    texts["ahead"] = Known({name: listed(further(own, 1), "no table") for name, own in pairs.items()})
    texts["n_behind"] = Known({
        name: sum(points < -error for points, error in own.values()) for name, own in pairs.items()
    })  # fmt: skip
    rivals = {name: own for name, own in pairs.items() if not name.startswith("prismap") and name not in MODELS}
    for errors, key in ((1, "often_ahead"), (2, "often_surely_ahead")):
        often = {name: names for name, own in rivals.items() if len(names := further(own, errors)) > 2}
        texts[key] = (
            "; ".join(f"{name} on {len(names)} ({', '.join(names)})" for name, names in often.items()) or "none"
        )
    texts |= of_protocol(lines) | of_ceiling(rows) | of_judging(rows) | of_units(rows)
    for key in SMALL[:3]:
        best = sorted((line for line in lines if line.get(key) is not None and line["method"] != "no map"),
                      key=lambda line: -line[key])[:3]  # fmt: skip
        texts[f"best_{key.lower()}"] = ", ".join(f"{line['method']} ({line[key]:.2f})" for line in best)
    ours = league_of("our sets", rows)
    texts |= {"our_new": columns_of(ours)["new"], "our_ranking": ranked(ours), "failures": failures(rows)}
    texts["undone"] = undone(rows)
    return Known({key: str(value) if isinstance(value, int) else value for key, value in texts.items()})


def columns_of(lines):
    """Figures by column, then by method."""
    names = {"new": "new, 10", "seen": "seen, 10", "invented": "invented", "balanced": "balanced"}
    names |= {key: key for key in SMALL[:3]}
    return {
        key: Known({
            line["method"]: f"{line[column]:.2f}" if key in SMALL else in_words(line[column])
            for line in lines if line.get(column) is not None
        }) for key, column in names.items()
    }  # fmt: skip


def ranked(lines):
    """All but the default with their share of new rows, best first."""
    told = [line for line in lines if line.get("new, 10") is not None and line["method"] != "prismap"]
    return "; ".join(f"{line['method']} {in_words(line['new, 10'])}" for line in told) or "-"


def in_words(value):
    """A figure with one decimal, and no minus before a zero."""
    return f"{round(value, 1) + 0.0:.1f}"


def signed(points, error):
    """Points with their sign, and their standard error."""
    return f"{points:+.1f} +- {error:.1f}"


def listed(names, none="none"):
    """Names as a text."""
    return ", ".join(names) or none


def surely(means):
    """Who is ahead of the default by more than two standard errors, and who is behind."""
    ahead = [f"{name} ({signed(*mean)})" for name, mean in means.items() if mean[0] > 2 * mean[1]]
    behind = [f"{name} ({signed(*mean)})" for name, mean in means.items() if mean[0] < -2 * mean[1]]
    return listed(ahead), listed(behind)


def of_protocol(lines):
    """Who leads by seen rows, and what methods with labels invent."""
    seen = sorted((line for line in lines if line.get("seen, 10") is not None), key=lambda line: -line["seen, 10"])
    first = seen[0] if seen else {"method": "-"}
    texts = {"first_seen": first["method"]}
    for key, column in (("seen", "seen, 10"), ("gain", "gain, seen"), ("new", "new, 10"), ("invented", "invented")):
        texts[f"{key}_of_first"] = "-" if first.get(column) is None else f"{first[column]:.1f}"
    taught = sorted((line for line in seen if line["labels"] == "yes"), key=lambda line: -line["invented"])
    inventing = "; ".join(f"{line['method']} {in_words(line['invented'])}" for line in taught)
    return texts | {"inventing": inventing or "-"}


def of_ceiling(rows):
    """How far the better model of all features is ahead."""
    above = {one: pair for group in GROUPS for one, pair in named_apart(group, ceiling(group, rows)).items()}
    texts = {"n_sets": len(above)}
    for points in (3, 6):
        texts[f"within_{points}"] = sum(ahead <= points for ahead, _ in above.values())
    far = sorted(((pair, one) for one, pair in above.items() if pair[0] > 3), reverse=True)
    return texts | {"above_3": listed([f"{one} ({signed(*pair)})" for pair, one in far])}


def named_apart(group, pairs):
    """Some sets are tables and ours."""
    return pairs if group == "league" else {f"{one} (ours)": pair for one, pair in pairs.items()}


def of_judging(rows):
    """What own rows show, what is true, and what is stated."""
    kept = by_method(rows, "judged")
    sets = [row for own in kept.values() for row in own.values() if {"stated", "true"} <= set(row)]
    if not sets:
        return {}
    worst = max(judged_table(rows), key=lambda line: line["shown, off by"] or 0)
    texts = {"flatterer": worst["method"]}
    texts |= {f"flatterer_{key}": f"{worst[key]:.1f}" for key in ("shown", "true", "stated")}
    for key in ("shown", "stated"):
        texts[f"{key}_off"] = f"{np.mean([abs(row[key] - row['true']) for row in sets]):.1f}"
    texts["stated_noise"] = f"{np.mean([noise(row) for row in sets]):.1f}"
    others = [row for own in kept.values() for row in own.values() if "permuted: shows" in row]
    flattering = [row for row in others if row["permuted: shown"] < 0.5 * row.get("permuted: true", 0)]
    texts |= {"n_permuted": len(others), "false_shows": count(others, "permuted: shows")}
    return texts | {"n_flattering": len(flattering), "told_flattery": count(flattering, "permuted: exaggerates")}


def noise(row):
    """The standard error of a share of a fifth of the fitted rows, in points."""
    share = np.clip(row["true"] / 100, 0.01, 0.99)
    return 100 * np.sqrt(share * (1 - share) / max(row["rows"] / 5, 1))


def of_units(rows):
    """New rows and new units."""
    lines = {line["method"]: line for line in units_table(rows)}
    names = {"units": "new units", "coins_rows": "coins: new rows", "coins_units": "coins: new units"}
    texts = {key: Known({name: f"{line[column]:.1f}" for name, line in lines.items()}) for key, column in names.items()}
    means = {name: (line["to prismap"], line["+-"]) for name, line in lines.items() if line["to prismap"] != ""}
    ahead, behind = surely(means)
    compared = f"Ahead of the default by more than two standard errors, by units: {ahead}; behind: {behind}."
    return texts | {"units_compared": compared if means else ""}


def undone(rows):
    """Which methods were not measured, in words; the end of the page has all parts."""
    names = [name for name in METHODS if name != UNITS_TOLD and name not in by_method(rows, "league")]
    return f"Not measured for want of time: {', '.join(names)}." if names else ""


def failures(rows):
    """Maps that could not be made or that place nothing, in words."""
    found = {}
    for group in (*GROUPS, "judged"):
        for name, own in by_method(rows, group).items():
            for one, row in own.items():
                for key in ("failed", "permuted: failed"):
                    if row.get(key):
                        found.setdefault((name, row[key]), []).append(one)
    words = [f"{name} on {', '.join(dict.fromkeys(sets))} ({why})" for (name, why), sets in found.items()]
    return f"Failed: {'; '.join(words)}." if words else ""


GROUPS = {"league": "The 27 tables of the field", "our sets": "Our 30 sets"}
#: What the table of the field needs first, then units, then our own sets.
PARTS = {part_name("models", "league"): partial(rows_of_models, "league")}
PARTS |= {part_name(name, "league"): partial(rows_of, name, "league") for name in METHODS if name != UNITS_TOLD}
PARTS |= {
    part_name(name, "units"): partial(rows_of_units, name) for name, how in METHODS.items() if how.placing != NONE
}
PARTS |= {
    part_name(name, "judged"): partial(rows_of_judging, name) for name, how in METHODS.items()
    if how.maker and name != UNITS_TOLD
}  # fmt: skip
PARTS |= {part_name("models", "our sets"): partial(rows_of_models, "our sets")}
PARTS |= {part_name(name, "our sets"): partial(rows_of, name, "our sets") for name in METHODS if name != UNITS_TOLD}
WITHOUT_DATA = tuple(part for part in PARTS if not part.endswith((", league", ", judged")))

QUOTED = {"of": figures_of_text}

if __name__ == "__main__":
    main(sys.modules[__name__])
