"""All experiments into the ledger: `python -m experiments.run --data FOLDER [--quick] [--only NAME ...] [--resume]`.

Every part of every experiment is a process of its own with one thread of linear algebra, as many at once as there are
cores, those that took longest before first. Pages go to `docs/results/`, the list of them to `docs/results.md`. A part
that fails is named and the others go on; --resume leaves out those whose rows the present library has measured.
Without --data only the parts run that need no data set. All of it takes hours, as the list of pages says; with --quick
and the data sets it is a trial of every part in about an hour.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

from experiments import ledger

NAMES = (
    "honesty", "supervised", "methods", "posteriors", "mappings", "lattices", "segments", "objects",
    "field", "league", "ceiling", "targets", "missing", "dependence", "units", "batches", "verdicts", "truth", "trust",
    "arrangement", "relevance_notions", "relevance_pictures", "parametric", "prototypes", "deepview", "variants",
    "reasons",
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

The pages were not made by one run. Each says at its end which commit measured its parts, and which defaults its maps
have. [The field](results/field.md) compares these with the former ones, `supervision=0.8, mapping="fisher"`.

All figures were measured before [all votes followed one rule](decisions/0024-one-owner-per-decision.md). They may
differ by some tenths of a point where ten neighbours draw.
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
    """Whether an earlier run of the same size left the rows of a part, and the library has not changed since."""
    kept = earlier(script, part, args.out)
    return kept.get("quick") == args.quick and ledger.is_unchanged_since(kept.get("commit"))


def write_index(out):
    """All pages anew and the list of them, with what each took."""
    lines, total = [], 0.0
    for name in NAMES:
        script = importlib.import_module(f"experiments.{name}")
        if found := ledger.write_page(script, out):
            minutes = sum(kept["seconds"] for kept in found.values()) / 60
            total += minutes
            link = f"[{ledger.title(script)}]({out.name}/{name}.md)"
            lines.append(f"| {link} | {len(found)} of {len(script.PARTS)} | {minutes:.0f} |")
    hours = f"Together the parts take {total / 60:.1f} hours of one core, about half of that on two."
    head = ["# Results", "", READING.strip(), "", hours, "", "| page | parts | minutes of one core |", "|---|---|---|"]
    (out.parent / f"{out.name}.md").write_text("\n".join(head + lines) + "\n", encoding="utf-8")


def main():
    """The command line; exit code 1 if a part failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    ledger.add_options(parser)
    parser.set_defaults(out=ledger.RESULTS)
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, help="some of the experiments (all)")
    parser.add_argument("--parts", nargs="+", metavar="WORD", help="parts with one of these words in their name (all)")
    parser.add_argument("--resume", action="store_true", help="leave out parts measured by the library as it is")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="parts at once (%(default)s)")
    args = parser.parse_args()
    scripts = [importlib.import_module(f"experiments.{name}") for name in args.only]
    work = [(script, part) for script in scripts for part in ledger.feasible(script, args.data)]
    work = [(script, part) for script, part in work if not args.parts or any(word in part for word in args.parts)]
    work = [one for one in work if not (args.resume and is_done(*one, args))]
    # No long part is left for the end; one that was never measured may be long.
    work.sort(key=lambda one: earlier(*one, args.out).get("seconds", math.inf), reverse=True)
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
