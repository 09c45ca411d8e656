"""All experiments into the ledger: `python -m experiments.run --data FOLDER [--quick] [--only NAME ...] [--resume]`.

Every part of every experiment is a process of its own with one thread of linear algebra, as many at once as there are
cores, those that took longest before first. Pages go to `docs/results/`, the list of them to `docs/results.md`. A part
that fails is named and the others go on. --resume keeps the parts whose rows are there, and names each of them with the
commit that measured it; --resume only measures nothing else, and --resume current keeps those alone that the library as
it is has measured. Without --data only the parts run that need no data set. All of it takes hours, as the list of pages
says; with --quick and the data sets it is a trial of every part in about an hour.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

from experiments import ledger

NAMES = (
    "honesty", "supervised", "methods", "posteriors", "mappings", "lattices", "segments", "objects",
    "field", "league", "ceiling", "targets", "missing", "dependence", "units", "batches", "verdicts", "truth", "trust",
    "arrangement", "relevance_notions", "relevance_pictures", "parametric", "prototypes", "deepview", "variants",
    "reasons", "curves",
    "table_a", "table_b", "table_c", "table_d", "table_e", "table_f", "table_g", "table_h",
)  # fmt: skip
#: Linear algebra of several processes gets in its own way with a thread a core in each of them.
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")}

READING = """
Published figures stand beside ours, and supervised figures beside the same with permuted labels. Each table of a paper
says its protocol, its splits and what differs. Figures that we do not reach are collected on
[a page of their own](results/not_reached.md), with the reason.

`make experiments DATA=FOLDER` makes everything again; `FOLDER` holds the benchmark sets as npz files. Each part runs on
one core. Seconds are those of the processor, peers included. Speed against peers is measured separately:
[ratios](results/speed.md) by `make bench`, [large maps](results/large.md) by `make large`,
[reports](results/reports.md). The methods of the field on its own tables are [the league](results/league.md), by
`make league`.

The parts were not measured by one run. `make experiments RESUME=1` goes through all of them, keeps those whose rows are
there, says by which commit each was measured, measures those that have none, and writes all pages. `RESUME=only`
measures nothing: it finds the rows of {kept} of {total} parts and writes the pages. Each page says at its end which
commit measured its parts, and which defaults its maps have. [The field](results/field.md) compares these with the
former ones, `supervision=0.8, mapping="fisher"`.
"""
#: Commits whose figures are older than what the sentence on them says.
OLDER = ("1211a32", "8bbc0f0")
ON_OLDER = """
{count} of the {total} parts that are kept were measured at commits {commits}, before
[the one rule of all votes](decisions/0024-one-owner-per-decision.md) and the present descent of t-SNE. Parts of Tables
A, F and H and of the variants, measured again, are the same or differ by some tenths of a point, and single maps by two
or three points.
"""


def run_part(script, part, args):
    """One part as a process: (exit code, seconds, last lines of its errors)."""
    command = [sys.executable, "-m", script.__name__, "--parts", part, "--out", str(args.out)]
    command += ["--data", args.data] if args.data else []
    command += ["--peers", args.peers] if args.peers else []
    command += ["--quick"] if args.quick else []
    start = time.perf_counter()
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | ONE_THREAD, encoding="utf-8"
    )
    return done.returncode, time.perf_counter() - start, done.stderr[-2000:]


def earlier(script, part, out):
    """What an earlier run kept of a part, empty if there was none."""
    path = ledger.rows_path(script, part, out)
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def is_done(script, part, args):
    """Whether a part is left out: an earlier run of the same size left its rows, by this library if that is asked."""
    kept = earlier(script, part, args.out)
    if not args.resume or kept.get("quick") != args.quick:
        return False
    return args.resume != "current" or ledger.is_unchanged_since(kept.get("commit"))


def say_plan(kept, work, args, n_without_data):
    """Name the parts that are kept and those that are measured, so that none is left out or made anew unseen."""
    n_current = 0
    for script, part in kept:
        code = earlier(script, part, args.out).get("commit")
        n_current += (current := ledger.is_unchanged_since(code))
        by = "the library as it is" if current else "an earlier library"
        print(f"kept: {ledger.script_name(script)}, {part}, measured by {by} at {code}", flush=True)
    for script, part in work:
        what = "without rows" if args.resume == "only" else "to measure"
        print(f"{what}: {ledger.script_name(script)}, {part}", flush=True)
    print(f"{len(kept)} parts are kept, {n_current} of them measured by the library as it is.")
    print(f"{len(work)} have no rows." if args.resume == "only" else f"{len(work)} are measured now.", flush=True)
    if n_without_data:
        print(f"{n_without_data} parts need data sets and are left out: --data names their folder.", flush=True)


def write_index(out):
    """All pages anew and the list of them, with what each took and where it was measured."""
    lines, parts, total = [], [], 0
    for name in NAMES:
        script = importlib.import_module(f"experiments.{name}")
        total += len(script.PARTS)
        if found := ledger.write_page(script, out):
            minutes = sum(kept["seconds"] for kept in found.values()) / 60
            parts += found.values()
            link = f"[{ledger.title(script)}]({out.name}/{name}.md)"
            commits = ", ".join(dict.fromkeys(code for kept in found.values() for code in codes_of(kept)))
            lines.append(f"| {link} | {len(found)} of {len(script.PARTS)} | {minutes:.0f} | {commits} |")
    hours = f"Together the parts take {total_hours(parts):.1f} hours of one core, about half of that on two."
    reading = READING.strip().format(kept=len(parts), total=total)
    head = ["# Results", "", reading, "", *on_older(parts), hours, ""]
    head += ["| page | parts | minutes of one core | measured at |", "|---|---|---|---|"]
    (out.parent / f"{out.name}.md").write_text("\n".join(head + lines) + "\n", encoding="utf-8")


def codes_of(kept):
    """The commits that measured a part: one, or several where some of its rows were measured again."""
    return re.findall(r"\b[0-9a-f]{7,8}\b", kept.get("commit") or "")


def total_hours(parts):
    """Hours of the processor for all parts that are kept."""
    return sum(kept["seconds"] for kept in parts) / 3600


def on_older(parts):
    """The sentence on parts that are older than a change of many figures, as lines; none if there are none."""
    older = [kept["commit"] for kept in parts if kept.get("commit") in OLDER]
    commits = " and ".join(code for code in OLDER if code in older)
    return [ON_OLDER.strip().format(count=len(older), total=len(parts), commits=commits), ""] if older else []


def main():
    """The command line; exit code 1 if a part failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    ledger.add_options(parser)
    parser.set_defaults(out=ledger.RESULTS)
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, help="some of the experiments (all)")
    parser.add_argument("--parts", nargs="+", metavar="WORD", help="parts with one of these words in their name (all)")
    resume = "keep parts whose rows are there (only: and measure no others; current: if the library as it is made them)"
    parser.add_argument("--resume", nargs="?", const="kept", choices=("kept", "only", "current"), help=resume)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="parts at once (%(default)s)")
    args = parser.parse_args()
    scripts = [importlib.import_module(f"experiments.{name}") for name in args.only]
    every = [(script, part) for script in scripts for part in script.PARTS]
    every = [(script, part) for script, part in every if not args.parts or any(word in part for word in args.parts)]
    kept = [one for one in every if is_done(*one, args)]
    work = [(script, part) for script, part in every if part in ledger.feasible(script, args.data)]
    work = [one for one in work if one not in kept]
    # No long part is left for the end; one that was never measured may be long.
    work.sort(key=lambda one: earlier(*one, args.out).get("seconds", math.inf), reverse=True)
    say_plan(kept, work, args, len(every) - len(kept) - len(work))
    work = [] if args.resume == "only" else work
    failed = []
    with ThreadPoolExecutor(args.jobs) as pool:
        running = {pool.submit(run_part, script, part, args): (script, part) for script, part in work}
        for count, job in enumerate(as_completed(running), 1):
            script, part = running[job]
            code, seconds, errors = job.result()
            name = f"{ledger.script_name(script)}, {part}"
            told = f"{seconds:.0f} s" if code == 0 else f"failed with exit code {code}\n{errors}"
            print(f"[{count} of {len(work)}] {name}: {told}", flush=True)
            failed += [name] if code else []
    write_index(args.out)
    print("failed: " + "; ".join(failed) if failed else f"{args.out}.md", flush=True)
    return int(bool(failed))


if __name__ == "__main__":
    raise SystemExit(main())
