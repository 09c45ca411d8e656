"""Dependence: which rows are found not to be independent.

Labels are one coin per unit, so that nothing can be known of a new unit. *Found* is the share of the tables in which
dependence is found without any option, *sure* the share in which it is beyond doubt, so that the verdict goes by units
by itself. *Pairs* is the share of the pairs of rows of one unit that are in one unit of those found, and *false pairs*
the share of the pairs of those units that are not. Noise is in standard deviations of the columns.

The second table lists every finding on sets as they are published. Columns are those of the tables with at
least eight values that repeat, tested as features.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np
from sklearn import datasets

from experiments.common import load
from experiments.ledger import main
from prismap.target import exact_copies, join_units, make_target, near_copies, order_dependence, suspicious_columns

READING = """
Exact copies of measurements are always found. Of near copies in ten columns and more, at least 97 % of the pairs are
found up to a noise of 20 %. In five columns it is 83 to 94 % at a noise of 10 %, and at most a third at 20 %: copies
are then at a distance of 0.6, and the next of 150 rows at 0.9, which is too small a gap for this rule. Patients with a
column of their names are always found. One after another without such a column, ten patients are missed in some
tables, because a difference between so few units is uncertain. If numbers of rows per patient differ, up to 37 % of the
pairs in the runs found are of two patients, so that units are too large rather than too small.

The thresholds were set while looking at the published sets below and at these generated tables, so the small number of
findings on them is no independent estimate of false alarms. Of 220 tables of the generators of the field with seeds
that were not looked at, none had a finding.

Some findings are known to be true: tecator holds 22 spectra twice, trios are among the people of the 1000 Genomes,
coil20 has views of one object in steps of five degrees, and parkinsons has the recordings of a person one after
another. The last is the only one beyond doubt by itself. For boston, covertype, glass, olivetti, treeData, usps9298 and
the equal voters nobody has checked whether rows depend on each other or are alike by chance.
"""
SEEDS = 5


# --- generated tables -------------------------------------------------------------------------------------------------


def pairs(units, true):
    """(share of the true pairs that were found, share of the pairs found that are false)."""
    same, real = units[:, None] == units, true[:, None] == true
    n_rows = len(units)
    both, found, all_real = (int(table.sum()) - n_rows for table in (same & real, same, real))
    return both / max(all_real, 1), 1 - both / max(found, 1) if found else 0.0


def summary(label, cases):
    """A row of the table: cases are (found, sure, units found, true units)."""
    shares = [pairs(units, true) for _, _, units, true in cases]
    return {
        "table": label, "cases": len(cases), "found, %": round(100 * float(np.mean([one[0] for one in cases]))),
        "sure, %": round(100 * float(np.mean([one[1] for one in cases]))),
        "pairs, %": round(100 * float(np.mean([one[0] for one in shares]))),
        "false pairs, %": round(100 * float(np.mean([one[1] for one in shares]))),
    }  # fmt: skip


def copied(n_columns, n_copies, noise, seed):
    """Rows of which each is there several times, with noise, in random order: X and the first of each row's copies."""
    rng = np.random.default_rng(seed)
    first = rng.permutation(np.repeat(np.arange(600 // n_copies), n_copies))
    X = rng.normal(size=(600 // n_copies, n_columns))[first]
    return X + noise * rng.normal(size=X.shape), first


def exact(options):
    """Copies, bootstrapped rows, and tables of few answers that have none."""
    tables = {"150 rows, each four times": lambda seed: copied(5, 4, 0.0, seed), "bootstrapped rows": bootstrapped}
    for label, make in tables.items():
        cases = []
        for seed in range(SEEDS):
            X, true = make(seed)
            copies = exact_copies(X)
            cases.append((bool(copies), bool(copies), copies.units, true))
        yield summary(label, cases)
    for n_columns, n_levels in ((3, 2), (5, 3), (8, 2)):
        cases = []
        for seed in range(SEEDS):
            X = np.random.default_rng(seed).integers(n_levels, size=(500, n_columns))
            copies = exact_copies(X)
            cases.append((bool(copies), bool(copies), copies.units, np.arange(500)))
        yield summary(f"500 independent rows of {n_columns} columns with {n_levels} values", cases)


def bootstrapped(seed):
    """As many rows as there are, drawn with replacement."""
    rng = np.random.default_rng(seed)
    drawn = rng.integers(300, size=300)
    return rng.normal(size=(300, 5))[drawn], drawn


def near(options):
    """Near copies with more and more noise."""
    for n_columns in (5, 10, 20):
        for n_copies in (2, 4):
            for noise in (0.01, 0.02, 0.05, 0.1, 0.2):
                cases = []
                for seed in range(SEEDS):
                    X, true = copied(n_columns, n_copies, noise, seed)
                    copies = near_copies(X, rng=np.random.default_rng(seed))
                    cases.append((bool(copies), bool(copies), copies.units, true))
                yield summary(f"{n_columns} columns, {n_copies} copies, noise {noise:.0%}", cases)


def recorded(n_people, n_rows, seed, balanced=True, noise=0.6):
    """People with several rows each: X, the person of each row and a coin per person."""
    rng = np.random.default_rng(seed)
    sizes = np.full(n_people, n_rows) if balanced else rng.integers(1, 2 * n_rows, size=n_people)
    person = np.repeat(np.arange(n_people), sizes)
    X = rng.normal(size=(n_people, 8))[person] + noise * rng.normal(size=(len(person), 8))
    return X, person, rng.integers(2, size=n_people)[person]


def patients(options):
    """People whose numbers stand in a column, in random order, and one after another without a column."""
    for n_people, n_rows in ((10, 20), (20, 10), (40, 25), (80, 10), (200, 5)):
        for balanced in (True, False):
            by_column, by_order = [], []
            for seed in range(SEEDS):
                X, person, y = recorded(n_people, n_rows, seed, balanced)
                rng = np.random.default_rng(seed)
                target = make_target(y, len(y))
                by_order.append(case_of(order_dependence(X, target, rng), person))
                order = rng.permutation(len(y))
                names = np.char.add("P", person[order].astype(str))
                columns = suspicious_columns({"patient": names}, X[order], target.take(order), rng)
                by_column.append(case_of(columns[0] if columns else None, person[order]))
            label = f"{n_people} patients, {'' if balanced else '1 to '}{n_rows if balanced else 2 * n_rows - 1} rows"
            yield summary(f"{label}, a column of patients", by_column)
            yield summary(f"{label}, one after another", by_order)


def case_of(suspicion, true):
    """What `summary` takes."""
    if suspicion is None:
        return False, False, np.arange(len(true)), true
    return True, suspicion.sure, suspicion.units, true


def nested(options):
    """Rows of patients of sites; the coin is the site's or the patient's."""
    for level in ("site", "patient"):
        cases = {"site": [], "patient": []}
        for seed in range(SEEDS):
            rng = np.random.default_rng(seed)
            patient = np.repeat(np.arange(120), 5)
            site = patient // 10
            X = rng.normal(size=(12, 8))[site] + 0.7 * rng.normal(size=(120, 8))[patient]
            X += 0.5 * rng.normal(size=X.shape)
            y = rng.permutation(12)[site] % 2 if level == "site" else rng.integers(2, size=120)[patient]
            order = rng.permutation(600)
            columns = {"site": site[order], "patient": patient[order]}
            found = suspicious_columns(columns, X[order], make_target(y[order], 600), rng)
            by_name = {one.name: one for one in found}
            for name in cases:
                cases[name].append(case_of(by_name.get(name), columns[name]))
        for name, rows in cases.items():
            yield summary(f"12 sites, 120 patients, a coin per {level}: the column {name}", rows)


def walks(options):
    """Random walks; labels in blocks of 30 rows, or another random walk."""
    for label in ("labels in blocks", "another walk"):
        cases = []
        for seed in range(SEEDS):
            rng = np.random.default_rng(seed)
            X = rng.normal(size=(600, 8)).cumsum(axis=0)
            y = (
                np.repeat(rng.integers(2, size=20), 30)
                if label == "labels in blocks"
                else rng.normal(size=600).cumsum()
            )
            one = order_dependence(X, make_target(y, 600), rng)
            cases.append((one is not None, one is not None and one.sure, np.arange(600), np.arange(600)))
        yield summary(f"random walks, {label}", cases)


# --- published sets ---------------------------------------------------------------------------------------------------


def findings(name, X, y, data="vectors", columns=None, encoded=None):
    """A row if anything is found on a set."""
    rng = np.random.default_rng(0)
    exactly = exact_copies(X, data)
    nearly = near_copies(X, data, rng)
    together = join_units(exactly.units, nearly.units)
    row = {"set": name, "rows": len(y), "equal rows": exactly.n_rows, "near copies": 0, "order": "", "columns": ""}
    row["near copies"] = int((np.bincount(together)[together] > 1).sum()) - exactly.n_rows
    if data == "vectors":
        target = make_target(y, len(y))
        row["order"] = described(order_dependence(X, target, rng))
        suspicions = suspicious_columns(columns or {}, X, target, rng, encoded=encoded)
        row["columns"] = "; ".join(f"{one.name}: {described(one)}" for one in suspicions)
    return row


def described(suspicion):
    """A suspicion in a few words; nothing for none."""
    if suspicion is None:
        return ""
    gap = suspicion.difference
    sure = ", sure" if suspicion.sure else ""
    return f"{suspicion.n_units} units, {gap.by_rows:.2f} to {gap.by_units:.2f}{sure}"


def bundled(options):
    """The sets of scikit-learn."""
    for name in ("iris", "wine", "digits", "breast_cancer", "diabetes"):
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        yield findings(f"scikit-learn, {name}", X, y)


def stored(options):
    """The sets of the field, of which no more than 20,000 rows are taken."""
    for path in sorted(Path(options.data).glob("*.npz")):
        file = load(options.data, path.stem)
        if "S" in file:
            kind = "similarity" if path.stem.startswith("sim_") else "dissimilarity"
            yield findings(path.stem, file["S"].astype(float), file["y"], kind)
        elif "X" in file:
            X, y = file["X"][:20_000].astype(np.float32), file["y"][:20_000]
            if path.stem.startswith("sc_"):
                X = np.log1p(1e4 * X / np.maximum(X.sum(axis=1, keepdims=True), 1))
            yield findings(path.stem, X, y if y.ndim == 1 else y[:, 0])


def league(options):
    """The tables of the league."""
    for path in sorted((Path(options.data) / "league").glob("*.csv")):
        yield findings(f"league, {path.stem}", **league_table(path))


def league_table(path):
    """Features, target and columns of a table: text as categories, all at variance 1."""
    with open(path, encoding="utf-8") as file:
        rows = list(csv.reader(file))
    header, rows = rows[0], rows[2 if path.stem == "segmentation" else 1 :]
    names = [f"{name} {place}" for place, name in enumerate(header)]  # some tables have a name twice
    texts = dict(zip(names, zip(*rows, strict=True), strict=True))
    target = names[-1] if path.stem == "zoo" else names[0]
    parts, columns, encoded, width = [], {}, {}, 0
    for name in names[1:-1] if path.stem == "zoo" else names[1:]:
        values, part = as_feature(texts[name])
        parts.append(part)
        columns[name], encoded[name] = values, np.arange(width, width + part.shape[1])
        width += part.shape[1]
    y = np.unique(texts[target], return_inverse=True)[1]
    return {"X": np.hstack(parts), "y": y, "columns": columns, "encoded": encoded}


def as_feature(texts):
    """(values, columns of numbers) of a column of text."""
    try:
        values = np.array([np.nan if text.strip() in ("", "?", "NA") else float(text) for text in texts])
    except ValueError:
        levels, codes = np.unique(texts, return_inverse=True)
        part = np.eye(len(levels))[codes]
        return np.array(texts), part / (np.sqrt(part.var(axis=0).sum()) or 1.0)
    return values, ((values - np.nanmean(values)) / (np.nanstd(values) or 1.0))[:, None]


PARTS = {
    "exact copies": exact, "near copies": near, "patients": patients, "nested units": nested, "random walks": walks,
    "bundled": bundled, "stored": stored, "league": league,
}  # fmt: skip
WITHOUT_DATA = ("exact copies", "near copies", "patients", "nested units", "random walks", "bundled")

if __name__ == "__main__":
    main(sys.modules[__name__])
