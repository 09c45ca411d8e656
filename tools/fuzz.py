"""Many more forged model files, damaged tables and odd requests than the tests run: ``make fuzz``.

``python tools/fuzz.py`` runs 50,000 model files, 20,000 tables and 10,000 requests; ``--models N --tables N
--requests N`` choose other numbers. Cases run in processes of their own; one that is ended by a signal is named, and
the rest goes on. The exit code is 0 if all cases were used, or refused in words.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
KINDS = {"models": ("hardening.forging", 50_000), "tables": ("hardening.garbling", 20_000),
         "requests": ("hardening.asking", 10_000)}  # fmt: skip
#: Cases of one process.
CHUNK = 1000


def run_chunk(module, folder, first, last):
    """Counts of the ends of some cases, and what went wrong: a case at which the process ends is one of those."""
    counts, wrong = Counter(), []
    paths = [str(ROOT / "src"), str(ROOT / "tests"), str(ROOT)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    while first < last:
        command = [sys.executable, "-m", module, folder, str(first), str(last)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        for line in map(json.loads, done.stdout.splitlines()):
            counts.update(line.get("counts", {}))
            wrong += [line] if "case" in line else []
        if done.returncode == 0:
            break
        case = int((Path(folder) / "case").read_text() or first)
        wrong.append({"case": case, "found": f"ended with code {done.returncode}: {done.stderr[-300:]}"})
        counts["ended"] += 1
        first = case + 1
    return counts, wrong


def main():
    """Run all kinds and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    for kind, (_, number) in KINDS.items():
        parser.add_argument(f"--{kind}", type=int, default=number, metavar="N", help=f"cases (default {number})")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="number of the first case (default 0)")
    args = parser.parse_args()
    failures = 0
    for kind, (module, _) in KINDS.items():
        begin, counts = time.perf_counter(), Counter()
        end = args.first + getattr(args, kind)
        with tempfile.TemporaryDirectory() as folder:
            for first in range(args.first, end, CHUNK):
                found, wrong = run_chunk(module, folder, first, min(first + CHUNK, end))
                counts += found
                failures += len(wrong)
                for line in wrong:
                    print(f"{kind} case {line['case']}: {line['found']}", flush=True)
        ends = ", ".join(f"{name} {number}" for name, number in counts.most_common(6))
        print(f"{kind}: {sum(counts.values())} cases in {time.perf_counter() - begin:.0f} s: {ends}", flush=True)
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
