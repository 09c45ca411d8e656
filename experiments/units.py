"""Maps of rows that are not independent: does the target show where nothing can be known of a new unit?

Labels are one coin per unit, so a verdict that says "shows" is false. *Found*: nothing is said of units, and the map
has to find them. *Given*: `groups=` names them. *By rows*: `groups="none", copies="none"`, which takes all rows as
independent, as every map did before. The share of tables in which the answer is "yes" or "in part", "cannot tell" and
"no", and the mean error on held-out rows.

*Effect*: the label is the sign of the first coordinate of the unit's centre, so it can be known. The same numbers
of independent rows, one of each unit, stand beside it.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np

from experiments.ledger import main
from prismap import PrisMap

READING = """
Taken as independent, coin flips of copies, patients and stretches of time are said to show in all of these tables. With
`groups=` they are in {given}, where at most one of twenty may be. Copies, near copies and walks are found without any
option, and their coins do not show either. Two kinds of tables are not saved without `groups=`: patients in random
order, whom no column names here, are not found, and of nested units the lower level is found (patients) while the coin
is that of the upper one (clinics).

What is there is still found by units, about as often as by one independent row of each unit.
"""


def coins_shown(found):
    """In how many tables of coins the target is said to show though the units were given."""
    lines = [line for part, kept in found.items() if "effect" not in part for line in kept["rows"]]
    given = [line for line in lines if line["units"] == "given"]
    shown = sum(round(line["shows, %"] * line["tables"] / 100) for line in given)
    return f"{shown} of {sum(line['tables'] for line in given)}"


QUOTED = {"given": coins_shown}
SEEDS = 5
CANNOT = "cannot tell"


def spread_over(rng, centres, sizes, noise):
    """Rows around the centres of units of these sizes, and the unit of each."""
    unit = np.repeat(np.arange(len(sizes)), sizes)
    return centres[unit] + noise * rng.normal(size=(len(unit), centres.shape[1])), unit


def coins(rng, n):
    """One coin per unit; both sides are there."""
    return rng.permutation(np.arange(n) % 2)


def copies(noise):
    """150 rows, each four times, in any order."""

    def make(rng):
        X, unit = spread_over(rng, rng.normal(size=(150, 10)), np.full(150, 4), noise)
        order = rng.permutation(len(X))
        return X[order], coins(rng, 150)[unit][order], unit[order]

    return make


def patients(n_patients, n_rows, *, unequal=False, effect=False):
    """Patients with several rows each, one after the other; of unequal numbers, if it is asked for."""

    def make(rng):
        sizes = np.full(n_patients, n_rows)
        if unequal:
            sizes = np.maximum(1, rng.geometric(1 / n_rows, n_patients))
        centres = 2 * rng.normal(size=(n_patients, 10))
        X, unit = spread_over(rng, centres, sizes, 1.0)
        y = (centres[:, 0] > 0).astype(int) if effect else coins(rng, n_patients)
        order = rng.permutation(len(X))
        return X[order], y[unit][order], unit[order]

    return make


def nested(rng):
    """20 clinics with five patients of six rows each; the label is that of the clinic."""
    clinic = np.repeat(np.arange(20), 5)
    centres = 2 * rng.normal(size=(20, 10))[clinic] + rng.normal(size=(100, 10))
    X, patient = spread_over(rng, centres, np.full(100, 6), 0.5)
    order = rng.permutation(len(X))
    return X[order], coins(rng, 20)[clinic[patient]][order], clinic[patient][order]


def walks(rng):
    """Eight walks that return to 0 slowly, with labels in stretches of 30 steps that have nothing to do with them."""
    X = np.zeros((900, 8))
    for step in range(1, 900):
        X[step] = 0.97 * X[step - 1] + rng.normal(size=8)
    stretch = np.arange(900) // 30
    return X, coins(rng, 30)[stretch], stretch


COINS = {
    "copies x 4": copies(0.0), "near copies x 4, noise 1 %": copies(0.01), "near copies x 4, noise 5 %": copies(0.05),
    "near copies x 4, noise 10 %": copies(0.1), "near copies x 4, noise 20 %": copies(0.2),
    "10 patients x 30": patients(10, 30), "40 patients x 15": patients(40, 15), "80 patients x 10": patients(80, 10),
    "200 patients x 5": patients(200, 5), "60 patients, unequal": patients(60, 10, unequal=True),
    "nested, by clinics": nested, "random walks": walks,
}  # fmt: skip
EFFECTS = {
    "40 patients x 15, effect": patients(40, 15, effect=True),
    "80 patients x 10, effect": patients(80, 10, effect=True),
    "200 patients x 5, effect": patients(200, 5, effect=True),
}  # fmt: skip


def judged(X, y, **options):
    """The answer of the report, the held-out error, and the seconds of the fit and the report."""
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        copies = options.pop("copies", "auto")
        model = PrisMap(copies=copies, random_state=0).fit(X, y, **options)
        report = model.report()
    seconds = time.process_time() - begin
    statement = report.statement("target_shows")
    error = float(report.scores[0].value) if report.scores else np.nan
    dependence = model.map_.given.dependence
    return statement.answer, error, dependence.units is not None, seconds


def summary(label, units, cases):
    """A row of the table."""
    answers = [case[0] for case in cases]
    errors = np.array([case[1] for case in cases])
    share = {
        name: round(100 * float(np.mean([one in kinds for one in answers])))
        for name, kinds in {"shows, %": ("yes", "in part"), "cannot tell, %": (CANNOT,), "no, %": ("no",)}.items()
    }
    known = errors[~np.isnan(errors)]
    return {
        "labels": label, "units": units, "tables": len(cases), **share,
        "error, %": round(100 * float(known.mean()), 1) if len(known) else "",
        "units used, %": round(100 * float(np.mean([case[2] for case in cases]))),
    }  # fmt: skip


def part_of(label, make):
    """The part of one kind of table."""

    def part(options):
        seeds = range(1 if options.quick else SEEDS)
        for units in ("found", "given", "by rows"):
            cases = []
            for seed in seeds:
                X, y, unit = make(np.random.default_rng(seed))
                settings = {"found": {}, "given": {"groups": unit}, "by rows": {"groups": "none", "copies": "none"}}
                cases.append(judged(X, y, **settings[units]))
            yield summary(label, units, cases)
        if "effect" in label:
            cases = []
            for seed in seeds:
                X, y, unit = make(np.random.default_rng(seed))
                first = np.unique(unit, return_index=True)[1]
                cases.append(judged(X[first], y[first]))
            yield summary(label, "one row of each", cases)

    return part


PARTS = {label: part_of(label, make) for label, make in {**COINS, **EFFECTS}.items()}
WITHOUT_DATA = tuple(PARTS)

if __name__ == "__main__":
    main(sys.modules[__name__])
