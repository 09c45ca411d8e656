"""Many more damaged and forged files and odd requests than the tests run: ``make fuzz``.

``python tools/fuzz.py`` runs all parts, one per door; ``--models N``, ``--pages N`` and so on choose other numbers of
cases, and 0 leaves a part out. Cases run in processes of their own; one that is ended by a signal, or hangs, is named,
and the rest goes on. A line per part has the counts of all ends, and the most memory that a process took. The exit code
is 0 if all cases were used, or refused in words.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
KINDS = {
    "models": ("hardening.forging", 50_000), "reports": ("hardening.forging_reports", 10_000),
    "pages": ("hardening.forging_pages", 10_000), "states": ("hardening.forging_states", 5_000),
    "caches": ("hardening.forging_caches", 5_000), "tables": ("hardening.garbling", 20_000),
    "cells": ("hardening.garbling_cells", 4_000), "skops": ("hardening.garbling_skops", 8_000),
    "onnx": ("hardening.garbling_onnx", 4_000), "requests": ("hardening.asking", 10_000),
}  # fmt: skip
#: Cases of one process.
CHUNK = 1000


def run_chunk(module, folder, first, last):
    """Counts of the ends of some cases, what went wrong, and the most memory in MiB.

    A case at which the process ends is one of those that went wrong.
    """
    counts, wrong, peak = Counter(), [], 0
    paths = [str(ROOT / "src"), str(ROOT / "tests"), str(ROOT)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    while first < last:
        command = [sys.executable, "-m", module, folder, str(first), str(last)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        for line in map(json.loads, done.stdout.splitlines()):
            counts.update(line.get("counts", {}))
            peak = max(peak, line.get("peak", 0))
            wrong += [line] if "case" in line else []
        if done.returncode == 0:
            break
        case = int((Path(folder) / "case").read_text() or first)
        how = "hangs" if done.returncode == -signal.SIGALRM else f"ended with code {done.returncode}"
        wrong.append({"case": case, "found": f"{how}: {done.stderr[-300:]}"})
        counts["hangs" if how == "hangs" else "signals"] += 1
        first = case + 1
    return counts, wrong, peak


def main():
    """Run all kinds and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    for kind, (_, number) in KINDS.items():
        parser.add_argument(f"--{kind}", type=int, default=number, metavar="N", help=f"cases (default {number})")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="number of the first case (default 0)")
    args = parser.parse_args()
    failures = 0
    for kind, (module, _) in KINDS.items():
        begin, counts, most = time.perf_counter(), Counter(), 0
        end = args.first + getattr(args, kind)
        with tempfile.TemporaryDirectory() as folder:
            for first in range(args.first, end, CHUNK):
                ends, wrong, peak = run_chunk(module, folder, first, min(first + CHUNK, end))
                counts += ends
                most = max(most, peak)
                failures += len(wrong)
                for line in wrong:
                    print(f"{kind} case {line['case']}: {line['found']}", flush=True)
        if not counts:
            continue
        ends = ", ".join(f"{name} {number}" for name, number in counts.most_common(6))
        seconds = time.perf_counter() - begin
        print(f"{kind}: {sum(counts.values())} cases in {seconds:.0f} s, at most {most} MiB: {ends}", flush=True)
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
