"""The parts of the league: from a method and a group of sets to one row per set."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.svm import SVC

from experiments import league_methods, league_sets
from experiments.field_sets import BUNDLED, GENERATED, STORED
from experiments.league_figures import balanced, figures, judged_figures, permuted, right, tenths
from experiments.league_methods import METHODS, UNITS_TOLD, Job
from experiments.league_pairs import standard_error
from experiments.ledger import RESULTS

#: Splits at most, and new rows over which there are no more splits; splits of units.
N_SPLITS, ENOUGH_NEW, SPLITS_OF_UNITS = 3, 200, 2
#: Tables on which what maps say of themselves is judged, too: small ones, easy and hard, of few classes and of many.
JUDGED = (
    "diabetes", "ecoli_5", "glass", "heart_disease", "heart_failure", "ionosphere", "lymphography", "seeds",
    "tic-tac-toe", "wine",
)  # fmt: skip
#: Figures that a row keeps with two decimals, as text.
SMALL = ("R_NX", "local", "global", "seconds")
MODELS = {"forest, all features": RandomForestClassifier(200, random_state=0), "SVM, all features": SVC()}


# --- maps and sets ----------------------------------------------------------------------------------------------------


def maps_of(name, jobs, options):
    """Results of a method for jobs, in a process of its own."""
    python = options.peers if METHODS[name].peers else sys.executable
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder) / "in.npz", Path(folder) / "out.npz"
        np.savez(source, **{
            f"{field}{k}": part for k, job in enumerate(jobs) for field, part in job._asdict().items()
            if part is not None
        })  # fmt: skip
        subprocess.run(
            [python, league_methods.__file__, name, source, made], check=True, stdout=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": str(RESULTS.parents[1] / "src")},
        )  # fmt: skip
        with np.load(made, allow_pickle=False) as file:
            arrays = {key: file[key] for key in file.files}
    kinds = ("Y", "Z", "seconds", "memory", "failed", "judged")
    return [{kind: arrays[f"{kind}{k}"] for kind in kinds if f"{kind}{k}" in arrays} for k in range(len(jobs))]


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


def measured(work, method, *group):
    """A part, which only says so where its method needs packages of others and no environment with them was named."""

    def part(options):
        if METHODS[method].peers and not options.peers:
            return iter([{"set": "needs --peers"}])
        return work(method, *group, options)

    return part


# --- new rows, seen rows and permuted labels --------------------------------------------------------------------------


def rows_of(method, group, options):
    """One row per set, the mean of its splits."""
    aware = METHODS[method].labels
    cases = {name: cases_of(group, name, options) for name in sets_of(group, options)}
    jobs = []
    for case in (case for splits in cases.values() for case in splits):
        jobs.append(Job(case.X, case.y, case.new))
        jobs += [Job(case.X, permuted(case.y), case.new[:2])] if aware else []
    results = iter(maps_of(method, jobs, options))
    for name, splits in cases.items():
        runs, reasons = [], []
        for place, case in enumerate(splits):
            made = next(results)
            other = next(results) if aware else made
            if "Y" in made:
                cost = {"seconds": float(made["seconds"]), "MB": float(made["memory"])}
                runs.append(figures(case, made, other, first=not place) | cost)
            reasons += [str(one["failed"]) for one in (made, other) if "failed" in one]
        yield row_of(name, splits, runs, reasons)


def row_of(name, splits, runs, reasons):
    """The mean of the runs that made a map."""
    row = {"set": name, "rows": len(splits[0].y), "held out": len(splits[0].y_new), "splits": len(splits)}
    hits = [run.pop("told") for run in runs if "told" in run]
    for key in dict.fromkeys(key for run in runs for key in run):
        value = float(np.mean([run[key] for run in runs if key in run]))
        row[key] = "" if not np.isfinite(value) else f"{value:.2f}" if key in SMALL else round(value, 2)
    row |= {"told": hits} if hits else {}
    return row | ({"failed": "; ".join(dict.fromkeys(reasons))} if reasons else {})


def rows_of_models(group, options):
    """Held-out rows predicted by models of all features."""
    warnings.simplefilter("ignore")
    for name in sets_of(group, options):
        splits = cases_of(group, name, options)
        for label, model in MODELS.items():
            hits = [(model.fit(case.X, case.y).predict(case.new) == case.y_new).astype(float) for case in splits]
            errors = [balanced(one, case.y_new) for one, case in zip(hits, splits, strict=True)]
            share = round(100 * float(np.mean([one.mean() for one in hits])), 2)
            row = {"model": label, "set": name, "new, 10": share, "balanced": round(float(np.mean(errors)), 2)}
            yield row | {"told": [tenths(one) for one in hits]}


# --- rows that belong together ----------------------------------------------------------------------------------------


def rows_of_units(method, options):
    """One row per set whose rows belong together: new rows of known units, and new units."""
    splits = range(1 if options.quick else SPLITS_OF_UNITS)
    cases = {
        name: [tuple(league_sets.unit_cases(name, options.data, split)) for split in splits]
        for name in sets_of("units", options)
    }
    jobs = [
        Job(case.X, case.y, case.new, case.units if method == UNITS_TOLD else None)
        for pairs in cases.values() for pair in pairs for case in pair
    ]  # fmt: skip
    results = iter(maps_of(method, jobs, options))
    for name, pairs in cases.items():
        made = [(next(results), next(results)) for _ in pairs]
        yield unit_row(name, pairs, made)


def unit_row(name, pairs, made):
    """The figures of a set: shares of seen rows, of new rows and of new units, with an error that goes by units."""
    shares, by_unit = {"seen": [], "new rows": [], "new units": []}, []
    for (of_rows, of_units), (map_of_rows, map_of_units) in zip(pairs, made, strict=True):
        if "Z" in map_of_rows:
            shares["seen"].append(right(map_of_rows["Y"], of_rows.y, 10).mean())
            shares["new rows"].append(hits_of(of_rows, map_of_rows).mean())
        if "Z" in map_of_units:
            hits = hits_of(of_units, map_of_units)
            shares["new units"].append(hits.mean())
            units = of_units.new_units
            by_unit.append([round(float(hits[units == one].mean()), 3) for one in np.unique(units)])
    first = pairs[0][1]
    row = {"set": name, "units": len(np.unique(first.units)) + len(np.unique(first.new_units))}
    row |= {key: round(100 * float(np.mean(values)), 1) for key, values in shares.items() if values}
    row |= {"error, by units": round(100 * standard_error(by_unit), 1)} if by_unit else {}
    biggest = [np.bincount(case.y_new).max() / len(case.y_new) for _, case in pairs]
    return row | {"largest class": round(100 * float(np.mean(biggest)), 1), "told": by_unit}


def hits_of(case, made):
    """Whether ten fitted neighbours predict the class of each new row."""
    return right(made["Y"], case.y, 10, made["Z"], case.y_new)


# --- statements of `judge` --------------------------------------------------------------------------------------------


def rows_of_judging(method, options):
    """What own rows show, what new rows say, and what `judge` says of a method on the fitted rows; permuted, too."""
    group = "our sets" if options.quick else "league"
    names = sets_of(group, options) if options.quick else JUDGED
    cases = {name: cases_of(group, name, replace(options, quick=True))[0] for name in names}
    both = {name: {"": case.y, "permuted: ": permuted(case.y)} for name, case in cases.items()}
    jobs = [
        Job(cases[name].X, y, cases[name].new, judged=True) for name in cases
        for y in both[name].values()
    ]  # fmt: skip
    results = iter(maps_of(method, jobs, options))
    for name, case in cases.items():
        row = {"set": name, "rows": len(case.y)}
        for words, y in both[name].items():
            row |= {words + key: value for key, value in statement_on(case, y, next(results)).items()}
        yield row


def statement_on(case, y, made):
    """What is stated of a map beside what is true, or why there is no statement."""
    if "judged" not in made:
        return {"failed": str(made.get("failed", ""))}
    stated = json.loads(str(made["judged"]))
    if "failed" in stated:
        return {"failed": f"judging: {stated['failed']}"}
    return judged_figures(case, y, made, stated)
