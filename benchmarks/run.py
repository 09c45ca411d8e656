"""`python -m benchmarks.run [NAME ...] [--data FOLDER] [--repeat N] [--page FILE]`: run the bench modules by name."""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import platform
from pathlib import Path

from experiments.ledger import markdown

import benchmarks
from benchmarks.harness import run_cases

PAGE = """# Speed: ratios against peers and limits

Both sides in turn in one process, ratio of the medians (range of the single pairs): theirs / ours, so above 1 we are
faster, and against "its products alone" 1 is the limit. Equal answers are checked where both sides give one. Peak:
memory of Python and numpy that our side held. A goal is the least ratio that is wanted. "CPU": seconds of the process
instead of the clock's. Large maps and files: [large](large.md).
"""


def bench_names() -> list[str]:
    """Modules called bench_*."""
    return sorted(m.name for m in pkgutil.iter_modules(benchmarks.__path__) if m.name.startswith("bench_"))


def main() -> None:
    """Run what was asked for and print ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"among {', '.join(bench_names())}; all by default")
    parser.add_argument("--data", help="folder of the data sets, for the cases that want one")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--page", type=Path, help="also write the figures to this Markdown file")
    args = parser.parse_args()
    names = [name if name.startswith("bench_") else f"bench_{name}" for name in args.names] or bench_names()
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    blocks = [PAGE.strip()]
    print(machine, flush=True)
    for name in names:
        print(f"\n{name}", flush=True)
        cases = importlib.import_module(f"benchmarks.{name}").cases(args.data)
        rows = [as_row(one) for one in run_cases(cases, args.repeat)]
        blocks += [f"## {name}", markdown(rows)] if rows else []
    if args.page:
        blocks.append(f"`python -m benchmarks.run --data FOLDER` on {machine}.")
        args.page.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")


def as_row(found):
    """A comparison as a row of the page."""
    return {
        "what": found.name, "theirs / ours": f"{found.ratio:.3g} ({found.low:.3g} .. {found.high:.3g})",
        "goal": found.outcome,
        "our seconds": f"{found.ours_seconds:.2g}{' CPU' if found.clock == 'cpu' else ''}",
        "peak MiB": f"{found.peak_bytes / 2**20:.0f}",
        "answer": "same" if found.equal else "OTHER", "note": found.note,
    }  # fmt: skip


if __name__ == "__main__":
    main()
