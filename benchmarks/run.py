"""The pages of speed: `python -m benchmarks.run [PART ...] [--page speed|large] [--data FOLDER] [--out FOLDER] ...`.

Every part is a process of its own, one after another: bench modules (`fit` or `bench_fit`) on the page "speed", and
parts of benchmarks/large.py on the page "large". With --out each part keeps its rows, and both pages are written from
all rows that are there, so that one part can be measured again without the others. --resume leaves out parts whose
rows are there with their commit. A part that fails is named and the others go on.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys

from experiments import ledger
from experiments.run import ONE_THREAD

PAGES = ("speed", "large")


def part_named(script, name):
    """A part of a page by its name; bench modules also without what all their names begin with."""
    found = [part for part in (name, f"bench_{name}") if part in script.PARTS]
    if not found:
        raise SystemExit(f"{name!r} is no part of the page; there are {', '.join(script.PARTS)}.")
    return found[0]


def run_part(script, part, args):
    """One part as a process that shows its rows as they come; its exit code."""
    command = [sys.executable, "-m", script.__name__, "--parts", part]
    for option in ("data", "out", "peers", "folder"):
        command += [f"--{option}", str(given)] if (given := getattr(args, option)) else []
    command += ["--quick"] if args.quick else []
    threads = {} if part in script.THREADED else ONE_THREAD
    return subprocess.run(command, check=False, env=os.environ | threads).returncode


def is_measured(script, part, args):
    """Whether rows of a whole run of this size are there that say which code they are of; others are measured again."""
    path = ledger.rows_path(script, part, args.out)
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return bool(kept.get("commit")) and "seconds" in kept and kept["quick"] == args.quick


def write_pages(out):
    """Both pages from the rows that are there: the goals on one of them look at the rows of both."""
    for name in PAGES:
        ledger.write_page(importlib.import_module(f"benchmarks.{name}"), out)


def main():
    """The command line; exit code 1 if a part failed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("parts", nargs="*", help="some of the parts (all)")
    parser.add_argument("--page", choices=PAGES, default="speed", help="the page they belong to (%(default)s)")
    parser.add_argument("--resume", action="store_true", help="leave out parts whose rows are there")
    ledger.add_options(parser)
    args = parser.parse_args()
    script = importlib.import_module(f"benchmarks.{args.page}")
    parts = [part_named(script, name) for name in args.parts] or ledger.feasible(script, args.data)
    if args.resume and args.out:
        parts = [part for part in parts if not is_measured(script, part, args)]
    failed = [part for part in parts if run_part(script, part, args)]
    if args.out:
        write_pages(args.out)
    if failed:
        print(f"failed: {', '.join(failed)}", flush=True)
    return int(bool(failed))


if __name__ == "__main__":
    raise SystemExit(main())
