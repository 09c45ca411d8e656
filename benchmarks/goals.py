"""The goals of speed and size, each with its figure from the rows that are kept, and whether it is met.

A goal is a function from `Rows` to the figure in words and to True (met), False (missed) or None where nothing was
measured. Figures of rows that were kept without a commit count as any other; the tables say which these are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from experiments.ledger import file_name, markdown

N_MILLION = 1_000_000
NOT_MEASURED = ("not measured", None)


class Rows:
    """The kept rows of both pages."""

    def __init__(self, out: Path):
        self.folder = Path(out) / "rows"

    def of(self, page, part, **wanted):
        """Rows of a part, those whose cells are as wanted; none if it was not measured in its full size."""
        path = self.folder / f"{page}.{file_name(part)}.json"
        kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"rows": [], "quick": False}
        rows = [] if kept["quick"] else kept["rows"]
        return [row for row in rows if all(row.get(name) == value for name, value in wanted.items())]

    def large(self, part, **wanted):
        """Rows of the page on large maps."""
        return self.of("large", part, **wanted)

    def ratios(self, module, words=""):
        """Names and ratios theirs / ours of a bench module, those whose name holds some words."""
        rows = self.of("speed", f"bench_{module}")
        return {row["what"]: number(row["theirs / ours"]) for row in rows if words in row["what"]}


def number(cell):
    """The number that a cell begins with; a lower bound counts as its number."""
    return float(re.sub(r"^[^0-9]*", "", str(cell)).split()[0].rstrip(",;%"))


def recall_of_search(rows):
    """Sampled rows against all."""
    found = {f"{row['data']} {int(row['rows']):,}": row["recall at 90"] for row in rows.large("neighbours")}
    return told(", ".join(f"{name}: {recall}" for name, recall in found.items()), found, lambda r: number(r) >= 0.95)


def recall_of_a_million(rows):
    """As the search itself estimates it."""
    found = [row["recall"] for row in rows.large("million", map="prismap", rows=N_MILLION) if row["recall"]]
    return told(", ".join(found), found, lambda recall: number(recall) >= 0.95)


def growth_of_a_fit(rows):
    """All of a fit, from 60 thousand to a million rows."""
    fits = {row["rows"]: row["fit, CPU s"] for row in rows.large("million", map="prismap")}
    if len(fits) < 2:
        return NOT_MEASURED
    (few, little), (many, much) = min(fits.items()), max(fits.items())
    slope = np.log(number(much) / number(little)) / np.log(many / few)
    return f"n^{slope:.2f} ({few:,} to {many:,} rows: {little} to {much} CPU s)", slope <= 1.15


def growth_of_search(rows):
    """The neighbours alone."""
    found = [row["exponent"] for row in rows.large("growth") if row.get("exponent")]
    return told(", ".join(f"n^{slope}" for slope in found), found, lambda slope: number(slope) <= 1.15)


def memory_of_a_million(rows):
    """Peak of the process."""
    found = [row["peak GB"] for row in rows.large("million", map="prismap", rows=N_MILLION)]
    return told(", ".join(f"{peak} GB" for peak in found), found, lambda peak: number(peak) <= 12)


def against_peer(part, most, **wanted):
    """CPU time of a fit over openTSNE's on the same rows, or more than it where openTSNE was stopped."""

    def goal(rows):
        ours, theirs = (rows.large(part, map=who, **wanted) for who in ("prismap", "openTSNE"))
        if not ours or not theirs:
            return NOT_MEASURED
        mine, other = ours[0]["fit, CPU s"], theirs[0]["fit, CPU s"]
        ratio = number(mine) / number(other)
        bound = str(other).startswith(">")
        words = f"{'less than ' if bound else ''}{ratio:.2f} ({mine} and {other} CPU s)"
        return words, (True if ratio <= most else None if bound else False)

    return goal


def at_least(module, least, words=""):
    """Ratios theirs / ours of a bench module, told as ours / theirs, which is to be at most 1 / least."""

    def goal(rows):
        found = rows.ratios(module, words)
        figure = "; ".join(f"{short(name)}: {1 / ratio:.2f}" for name, ratio in found.items())
        return told(figure, found, lambda ratio: ratio >= least)

    return goal


def short(name):
    """A case's name without what all of them say."""
    for words in ("PrisMap.fit, ", ", against openTSNE", "fit, report, place by ", "all-pairs Fisher, "):
        name = name.replace(words, "")
    return re.sub(r", \d+ digits: quiet.*| digits.*", "", name)


def fewer_iterations(rows):
    """Iterations of settled maps on average, and those of all."""
    found = rows.large("settling", data="mean")
    if not found:
        return NOT_MEASURED
    settled, whole = found[0]["iterations"], found[0]["iterations, all iterations"]
    return f"{settled} instead of {whole}: {whole / settled:.2f} x fewer", whole / settled >= 2


def placing(rows):
    """Cost of a row over that of reading it, without start-up."""
    found = [row for row in rows.large("files") if row["engine"] == "pool, without start-up"]
    words = ", ".join(f"{row['x reading']} x reading, {row['x products']} x the products alone" for row in found)
    return told(words, [row["x reading"] for row in found], lambda times: number(times) <= 4)


def pool_and_dask(part):
    """Rows per core second of both, start-up included."""

    def goal(rows):
        most = max((row["rows"] for row in rows.large(part) if row["engine"] == "pool"), default=None)
        rates = {
            engine: number(rows.large(part, engine=engine, rows=most)[0]["rows per core second"])
            for engine in ("pool", "Dask") if rows.large(part, engine=engine, rows=most)
        }  # fmt: skip
        if len(rates) < 2:
            return NOT_MEASURED
        apart = max(rates.values()) / min(rates.values()) - 1
        words = f"{most:,} rows: {rates['pool']:,.0f} and {rates['Dask']:,.0f} rows per core second, {apart:.0%} apart"
        return words, apart <= 0.2

    return goal


def constant_memory(rows):
    """Peak of the process early and late in the longest stream."""
    found = sorted(rows.large("drift") + rows.large("drift-of-100-million"), key=lambda row: row["rows"])
    if not found:
        return NOT_MEASURED
    row = found[-1]
    early, late = row["peak MiB after 200,000 rows"], row["peak MiB at the end"]
    words = f"{row['rows']:,} rows: {early} MiB after 200,000 and {late} MiB at the end, "
    words += f"{row['rows per core second']:,} rows per core second"
    if late > 1.05 * early:
        return words, False
    return words, True if row["rows"] >= 100 * N_MILLION else None


def refit_in_seconds(rows):
    """CPU seconds, with and without a target."""
    found = rows.large("refit")
    words = ", ".join(f"{row['partial_refit, CPU s']} CPU s ({row['metric']})" for row in found)
    return told(words, found, lambda row: number(row["partial_refit, CPU s"]) <= 10)


def same_bits(rows):
    """The map and the rows placed on it."""
    found = {row["rows"]: (row["map at 1 and 2 threads"], row["placed rows"]) for row in rows.large("threads")}
    words = ", ".join(f"{n:,} rows: {' and '.join(dict.fromkeys(cells))}" for n, cells in found.items())
    return told(words, found, lambda cells: set(cells) == {"same bits"})


def told(words, found, is_met):
    """Figure and outcome of found figures, all of which must meet the goal."""
    if not found:
        return NOT_MEASURED
    return words, all(is_met(one) for one in (found.values() if isinstance(found, dict) else found))


@dataclass(frozen=True)
class Goal:
    """What is wanted, how it is judged, and the command that measures it."""

    wanted: str
    judge: Callable[[Rows], tuple[str, bool | None]]
    command: str


GOALS = (
    Goal("neighbours: recall at 90 of at least 0.95 on 1,000 sampled rows", recall_of_search, "large PARTS=neighbours"),
    Goal("the same of a million rows, as the search estimates it", recall_of_a_million, "large PARTS=million"),
    Goal("growth of the search at most n^1.15", growth_of_search, "large PARTS=growth"),
    Goal("growth of a fit from 60,000 to a million rows at most n^1.15", growth_of_a_fit, "large PARTS=million"),
    Goal("a million rows in at most 12 GB", memory_of_a_million, "large PARTS=million"),
    Goal(
        "a million rows in at most 1.3 x openTSNE's CPU time", against_peer("million", 1.3, rows=N_MILLION),
        "large PARTS=million",
    ),
    Goal("60,000 rows of covertype in at most 1.3 x", against_peer("million", 1.3, rows=60_000), "large PARTS=million"),
    Goal("60,000 rows of mnist in at most 1.3 x", against_peer("mnist", 1.3), "large PARTS=mnist"),
    Goal(
        "2,000, 5,000 and 9,000 rows of mnist in at most 1.2 x openTSNE's CPU time",
        at_least("fit", 1 / 1.2, "PrisMap.fit"), "bench PARTS=fit",
    ),
    Goal(
        "all-pairs cross-fitted distances in at most 2.0 x their products alone",
        at_least("metrics", 0.5, "cross-fitted, against its products"), "bench PARTS=metrics",
    ),
    Goal("a descent that settles: 2 x fewer iterations on average", fewer_iterations, "large PARTS=settling"),
    Goal("placing a row in at most 4 x the time of reading it", placing, "large PARTS=files"),
    Goal(
        "placing 10,000 rows, against openTSNE's transform (no goal: 1 is its time)",
        at_least("mapping", 0.0, "openTSNE's transform"), "bench PARTS=mapping",
    ),
    Goal("pool and Dask within 20 % at 20 million rows", pool_and_dask("files-of-20-million"),
         "large PARTS=files-of-20-million"),
    Goal("the same at 2 million rows", pool_and_dask("files"), "large PARTS=files"),
    Goal("drift of 100 million rows in constant memory", constant_memory, "large PARTS=drift-of-100-million"),
    Goal("partial_refit of 1,000 rows on a map of 100,000 in seconds (10)", refit_in_seconds, "large PARTS=refit"),
    Goal(
        "every method beside 4 processes in at most 2 x its CPU time without them", at_least("busy", 0.5),
        "bench PARTS=busy",
    ),
    Goal("the same seed gives the same map at 1 and 2 threads", same_bits, "large PARTS=threads"),
)  # fmt: skip


def goals_table(out):
    """All goals as a Markdown table."""
    rows = Rows(out)
    lines = []
    for goal in GOALS:
        figure, met = goal.judge(rows)
        outcome = {True: "met", False: "missed", None: "open"}[met]
        outcome = "not measured" if figure == NOT_MEASURED[0] else outcome
        figure = "" if figure == NOT_MEASURED[0] else figure
        lines.append({"goal": goal.wanted, "figure": figure, "": outcome, "command": f"`make {goal.command}`"})
    return markdown(lines)


def estimate(out):
    """A billion rows on 100 machines of two cores, from the measured cost of a row; nothing if it was not measured."""
    found = [row for row in Rows(out).large("files") if row["engine"] == "pool, without start-up"]
    if not found:
        return ""
    rate = number(found[0]["rows per core second"])
    hours = 1e9 / rate / 3600
    return (
        f"**A billion rows on 100 machines: an estimate, not a measurement.** At {rate:,.0f} rows per core second a "
        f"billion rows take {hours:.1f} core hours, and {60 * hours / 200:.0f} minutes on 100 machines of two such "
        "cores, in 4,000 parts of 250,000 rows, 20 per core, so that an uneven end costs a twentieth at most. Start-up "
        "adds about ten seconds per process. The input has 128 GB and the output about 50 GB: 1.8 GB per machine, a "
        "further quarter of a minute where the common disk gives each machine 120 MB per second, and the bottleneck "
        "where it gives less."
    )
