"""Speed: ratios against peers and limits.

Both sides in turn in one process, ratio of the medians (range of the single pairs): theirs / ours, so above 1 we are
faster, and against "its products alone" 1 is the limit. A goal is the least ratio that is wanted. "CPU" seconds are
those that cores worked for the process and for those that it started, on one thread of linear algebra, which a busy
machine stretches less than the clock. Equal answers are checked where both sides give one. Peak: memory of Python and
numpy that our side held. Whole fits beside other tools are the parts "fits-of-ROWS", with the peak of each process.
Large maps and files, and the goals together: [large](large.md).
"""

from __future__ import annotations

import importlib
import pkgutil
import sys

import benchmarks
from benchmarks import fits
from benchmarks.goals import measured_on
from benchmarks.harness import run_cases

COMMAND = "make bench DATA=FOLDER"
#: Threads of linear algebra that wait for each other are what it measures, so it keeps those of the machine.
THREADED = ("bench_busy",)


def page_summary(out):
    """Where it was measured."""
    return measured_on(out, "speed")


def ratios(name):
    """The rows of one bench module."""

    def part(options):
        cases = importlib.import_module(f"benchmarks.{name}").cases(options.data)
        return (found.as_row() for found in run_cases(cases, repeat=1 if options.quick else 3))

    return part


PARTS = {
    module.name: ratios(module.name)
    for module in sorted(pkgutil.iter_modules(benchmarks.__path__), key=lambda module: module.name)
    if module.name.startswith("bench_")
}
#: They take generated rows or scikit-learn's digits where there is no folder.
WITHOUT_DATA = tuple(PARTS)
PARTS |= fits.PARTS

if __name__ == "__main__":
    from experiments.ledger import main

    main(sys.modules[__name__])
