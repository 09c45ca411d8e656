"""`python -m benchmarks.run [NAME ...] [--data FOLDER] [--repeat N] [--json FILE]`: run the bench modules by name."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pkgutil
import platform
from dataclasses import asdict

import benchmarks
from benchmarks.harness import run_cases


def bench_names() -> list[str]:
    """Modules called bench_*."""
    return sorted(m.name for m in pkgutil.iter_modules(benchmarks.__path__) if m.name.startswith("bench_"))


def main() -> None:
    """Run what was asked for and print ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"among {', '.join(bench_names())}; all by default")
    parser.add_argument("--data", help="folder of the data sets, for the cases that want one")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", help="also write the figures to this file")
    args = parser.parse_args()
    names = [name if name.startswith("bench_") else f"bench_{name}" for name in args.names] or bench_names()
    results = {}
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}", flush=True)
    for name in names:
        print(f"\n{name}", flush=True)
        module = importlib.import_module(f"benchmarks.{name}")
        results[name] = [asdict(one) for one in run_cases(module.cases(args.data), args.repeat)]
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
