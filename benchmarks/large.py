"""Large maps and large files.

Every line was measured in a process of its own on one thread of linear algebra. Seconds are those of the processor
unless it says clock, since the machine does other work at the same time. Peaks of memory are those of the process.
Ratios of small work against peers: [speed](speed.md).
"""

from __future__ import annotations

import sys

from benchmarks.files import files, files_of_20_million, machines, waiting
from benchmarks.goals import estimate, goals_table, measured_on
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
    "waiting": waiting,
    "drift": drift,
    "drift-of-100-million": drift_of_100_million,
    "refit": refit,
    "reading": reading,
}
WITHOUT_DATA = tuple(part for part in PARTS if part not in ("million", "neighbours", "growth", "mnist", "settling"))


def page_summary(out):
    """All goals with their figures, and what these say of a billion rows."""
    return "\n\n".join(filter(None, [measured_on(out, "large"), "## Goals", goals_table(out), estimate(out)]))


READING = """
## What we see

- **A million rows** are those of covertype (54 columns, seven classes), standardised, repeated with noise, and read
  from a memory-mapped file. 10,000 rows and their repetitions are held out, and judged by the fitted rows on the
  map. The million was fitted in one uninterrupted run beside other work, in 1,750 s of the clock. Before local supports
  had a perplexity of their own the map had 91.0 % by ten neighbours and 89.5 % by one. Placing 10,000 rows on it took
  56 CPU s the first time, most of which prepares the search: on a map that was loaded it takes 5
  ([decision 20](../decisions/0020-placing-on-large-maps.md)). Its quick report was ended after 15 minutes. The run of
  openTSNE on a million rows is of another machine and was stopped, so that its seconds are a lower bound. Its
  iterations took 4 to 5 CPU s each, because it takes the rows in the order in which they came: sorted along the map,
  the attractive forces of a million rows took 0.66 instead of 5.74 s (measured before rows were kept with their
  commit). Each row says which commit measured it. The commit at the end of the page is the one that collected these
  rows.
- **More rows, and fewer that judge.** On 30,000 rows of covertype a share of 0.99 of the target was better than 0.95
  and 0.8, by ten neighbours and by one. What held 1-NN back was the posterior: with a perplexity of 10, which its
  log-loss chooses there, instead of the map's 30, 10-NN went from 81.1 to 82.8 % and 1-NN from 75.3 to 76.7 %.
- **Trees** are tried on maps of any size, and not taken on these rows, which have noise in every column: local
  supports tell 60,000 of them better (log-loss 0.379, a forest's 0.406). The trial took the fit from 138 to 177 CPU s
  while whole forests were grown for it (the row of the million is of that code). A map of 60,000 rows of covertype as
  it is takes trees, and has 90.5 % of held-out rows right by ten neighbours and 87.1 % by one, in 155 CPU s, where it
  had 86.2 and 82.9 % ([decision 21](../decisions/0021-trees-on-large-maps.md)).
- **The verdict of a large map** comes from maps of 5,000 rows that are refitted, so its errors are larger than those of
  the map itself, and it says so.
- **mnist** is in 50 principal components of the training rows. The row of prismap was measured while the rule that
  ends the descent could end the exaggerated phase, too, which left some surfaces torn. It no longer can, and that
  phase takes its 250 iterations.
- **Settling**: two thirds of at most 1,500 rows fitted, `supervision=0.8`, kernels. Kept is the share of the ten
  nearest neighbours in the data. The tolerance of 3 % was chosen on samples of these six sets, so they are not
  independent of it.
- **Files**: generated rows x 32, parquet, a map of 1,000 rows by default. "Without start-up" is the difference of
  the two sizes. Start-up is about five core seconds of Dask. Why the largest process of the pool held 731 MiB at
  two million rows, and 391 at 200,000, was not looked into. Every row is there once, and the engines' outputs are
  compared bit by bit. The products alone take several times the time of reading, so 4 x reading is out of reach for
  distances to 1,000 fitted rows. Before rows were kept with their commit, the pool placed 20 million rows on a
  kernel map in 301 s of the clock, 66,000 a second on two cores, and Dask was stopped at 5 million.
- **Threads**: the fit by the seed alone, with all rows fitted, on one core with one thread of linear algebra and on
  two.
- **Machines**: a Dask scheduler and two workers that were started by themselves, each in a folder of its own.
- **Drift** takes an iterator and holds one batch. It looks at distances and posteriors and no longer at positions,
  which took 8.6 instead of 2.7 microseconds of a core per row without a target and 38 instead of 5.2 with one.
  Making the rows is included in the table.
- **`partial_refit`** adds at most 500 of 1,000 rows where the map has none, and measures them against its
  landmarks. Old positions stay to the last bit, which the benchmark checks.
- **Stop and resume** gives the same bits after SIGKILL, and `prismap.scale.map_frame` takes a Dask data frame that
  is there: both are tests, not figures.
- **Waiting**: a private Dask cluster took 7 % of a core while it lived, whether it worked or not, by looking after
  itself fifty times a second (before commit a47b08b). It does so once a second now. On a machine as busy as this
  one, where two million rows took 245 s of the clock, that was 15 of the 45 core seconds of Dask: 44,273 rows per
  core second beside 67,432 of the pool, 52 % apart.
"""

if __name__ == "__main__":
    from experiments.ledger import main

    main(sys.modules[__name__])
