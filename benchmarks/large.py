"""Large maps and large files.

Every line was measured in a process of its own on one thread of linear algebra. Seconds are those of the processor
unless it says clock, since the machine does other work at the same time. Peaks of memory are those of the process.
Ratios of small work against peers: [speed](speed.md).
"""

from __future__ import annotations

import sys

from benchmarks.files import files, files_of_20_million, machines
from benchmarks.goals import estimate, goals_table
from benchmarks.maps import growth, map_of_mnist, neighbours, settling, threads
from benchmarks.million import million
from benchmarks.reading import reading
from benchmarks.streams import drift, drift_of_100_million, refit

COMMAND = "make large DATA=FOLDER"
#: Parts that keep the machine's threads of linear algebra.
THREADED = ()
PARTS = {
    "million": million,
    "neighbours": neighbours,
    "growth": growth,
    "mnist": map_of_mnist,
    "settling": settling,
    "threads": threads,
    "files": files,
    "files-of-20-million": files_of_20_million,
    "machines": machines,
    "drift": drift,
    "drift-of-100-million": drift_of_100_million,
    "refit": refit,
    "reading": reading,
}
WITHOUT_DATA = tuple(part for part in PARTS if part not in ("million", "neighbours", "growth", "mnist", "settling"))


def summary(out):
    """All goals with their figures, and what these say of a billion rows."""
    return "\n\n".join(filter(None, ["## Goals", goals_table(out), estimate(out)]))


READING = """
"""

if __name__ == "__main__":
    from experiments.ledger import main

    main(sys.modules[__name__])
