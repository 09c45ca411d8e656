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

from prismap.map._methods import METHODS

N_MILLION = 1_000_000
#: Rows of the whole fits beside other tools.
FITS = (2_000, 5_000, 20_000)
NOT_MEASURED = ("not measured", None)


class Rows:
    """The kept rows of both pages."""

    def __init__(self, out: Path):
        self.folder = Path(out) / "rows"

    def kept(self, page, part):
        """What a part left, if it was measured in its full size."""
        path = self.folder / f"{page}.{file_name(part)}.json"
        kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"rows": [], "quick": False}
        return {"rows": []} if kept["quick"] else kept

    def of(self, page, part, **wanted):
        """Rows of a part, those whose cells are as wanted."""
        rows = self.kept(page, part)["rows"]
        return [row for row in rows if all(row.get(name) == value for name, value in wanted.items())]

    def commits(self, page, part):
        """The code that measured a part, or its single rows where they say it; of a long part, else its short twin."""
        kept = self.kept(page, part)
        if not kept["rows"] and "-of-" in part:
            kept = self.kept(page, part.partition("-of-")[0])
        found = [row["commit"] for row in kept["rows"] if "commit" in row] or [kept.get("commit") or "earlier"]
        return ", ".join(dict.fromkeys(found)) if kept["rows"] else ""

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


def beside(who, most):
    """CPU time of whole fits over another tool's on the same rows, at every size."""

    def goal(rows):
        ratios = {}
        for n in FITS:
            ours, theirs = (rows.of("speed", f"fits-of-{n}", map=one) for one in ("prismap", who))
            if ours and theirs:
                ratios[n] = ours[0]["fit, CPU s"] / theirs[0]["fit, CPU s"]
        words = "; ".join(f"{n:,} rows: {ratio:.2f}" for n, ratio in ratios.items())
        words, met = told(words, ratios, lambda ratio: ratio <= most)
        return words, None if met and len(ratios) < len(FITS) else met

    return goal


def memory_of_five_thousand(rows):
    """Peak of the process."""
    found = [row["peak GB"] for row in rows.of("speed", "fits-of-5000", map="prismap")]
    return told(", ".join(f"{peak} GB" for peak in found), found, lambda peak: number(peak) <= 0.5)


def at_most(module, most, words="", n_cases=1):
    """Ratios ours / theirs of a bench module; `most` is None where there is no goal. Open if cases are missing."""

    def goal(rows):
        found = {name: 1 / ratio for name, ratio in rows.ratios(module, words).items()}
        figure = "; ".join(f"{short(name)}: {ratio:.2f}" for name, ratio in found.items())
        if found and most is None:
            return figure, "no goal"
        figure, met = told(figure, found, lambda ratio: ratio <= most)
        if met and len(found) < n_cases:
            return f"{len(found)} of {n_cases} measured: {figure}", None
        return figure, met

    return goal


def short(name):
    """A case's name without what all of them say."""
    name = re.sub(r"^PrisMap.fit, |^fit, report, place by |^all-pairs Fisher, |^placing .*: ", "", name)
    return re.sub(r", against .*|, \d+ digits: .*", "", name)


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
    words, met = told(words, found, lambda cells: set(cells) == {"same bits"})
    return words, None if met and max(found) < 20_000 else met


def told(words, found, is_met):
    """Figure and outcome of found figures, all of which must meet the goal."""
    if not found:
        return NOT_MEASURED
    return words, all(is_met(one) for one in (found.values() if isinstance(found, dict) else found))


@dataclass(frozen=True)
class Goal:
    """What is wanted, how it is judged, and the part that measures it: `bench NAME`, `speed NAME` or `large NAME`."""

    wanted: str
    judge: Callable[[Rows], tuple[str, bool | str | None]]
    part: str

    @property
    def source(self) -> tuple[str, str]:
        """Page and part of its rows."""
        page, _, part = self.part.partition(" ")
        return ("speed", f"bench_{part}") if page == "bench" else (page, part)

    @property
    def command(self) -> str:
        """How it is measured again."""
        page, _, part = self.part.partition(" ")
        return f"`make {'bench' if page == 'speed' else page} PARTS={part}`"


GOALS = (
    Goal("neighbours: recall at 90 of at least 0.95 on 1,000 sampled rows", recall_of_search, "large neighbours"),
    Goal("the same of a million rows, as the search estimates it", recall_of_a_million, "large million"),
    Goal("growth of the search at most n^1.15", growth_of_search, "large growth"),
    Goal("growth of a fit from 60,000 to a million rows at most n^1.15", growth_of_a_fit, "large million"),
    Goal("a million rows in at most 12 GB", memory_of_a_million, "large million"),
    Goal(
        "a million rows in at most 1.3 x openTSNE's CPU time", against_peer("million", 1.3, rows=N_MILLION),
        "large million",
    ),
    Goal("60,000 rows of covertype in at most 1.3 x", against_peer("million", 1.3, rows=60_000), "large million"),
    Goal("60,000 rows of mnist in at most 1.3 x", against_peer("mnist", 1.3), "large mnist"),
    Goal("2,000, 5,000 and 20,000 rows of mnist in at most 0.4 x openTSNE's CPU time", beside("openTSNE", 0.4),
         "speed fits-of-5000"),
    Goal("the same in at most 5 x PaCMAP's CPU time", beside("PaCMAP", 5.0), "speed fits-of-5000"),
    Goal("5,000 rows in at most 0.5 GB", memory_of_five_thousand, "speed fits-of-5000"),
    Goal("a full report in at most 1 x its fit, from 150 to 5,000 rows", at_most("report", 1.0, "full", n_cases=4),
         "bench report"),
    Goal("a quick report in at most 0.3 x its fit", at_most("report", 0.3, "quick", n_cases=4), "bench report"),
    Goal(
        "all-pairs cross-fitted distances in at most 2.0 x their products alone",
        at_most("metrics", 2.0, "cross-fitted, against its products"), "bench metrics",
    ),
    Goal("a descent that settles: 2 x fewer iterations on average", fewer_iterations, "large settling"),
    Goal("placing a row in at most 4 x the time of reading it", placing, "large files"),
    Goal(
        "placing 10,000 rows, against openTSNE's transform (1 is its time)",
        at_most("mapping", None, "openTSNE's transform"), "bench mapping",
    ),
    Goal("pool and Dask within 20 % at 20 million rows", pool_and_dask("files-of-20-million"),
         "large files-of-20-million"),
    Goal("the same at 2 million rows", pool_and_dask("files"), "large files"),
    Goal("drift of 100 million rows in constant memory", constant_memory, "large drift-of-100-million"),
    Goal("partial_refit of 1,000 rows on a map of 100,000 in seconds (10)", refit_in_seconds, "large refit"),
    Goal(
        "every method beside 4 processes in at most 2 x its CPU time without them",
        at_most("busy", 2.0, n_cases=len(METHODS)), "bench busy",
    ),
    Goal("the same seed gives the same map at 1 and 2 threads", same_bits, "large threads"),
)  # fmt: skip


def goals_table(out):
    """All goals as a Markdown table."""
    rows = Rows(out)
    return markdown([goal_line(goal, rows) for goal in GOALS])


def goal_line(goal, rows):
    """One goal, its figure, its outcome, and the code that measured it."""
    figure, met = goal.judge(rows)
    measured = (figure, met) != NOT_MEASURED
    outcome = met if isinstance(met, str) else {True: "met", False: "missed", None: "open"}[met]
    return {
        "goal": goal.wanted, "figure": figure if measured else "", "": outcome if measured else "not measured",
        "at commit": rows.commits(*goal.source) if measured else "", "command": goal.command,
    }  # fmt: skip


def measured_on(out, page):
    """The machines that a page's rows are of, as far as they say it."""
    kept = (json.loads(path.read_text(encoding="utf-8")) for path in sorted(Rows(out).folder.glob(f"{page}.*.json")))
    machines = sorted({one["machine"] for one in kept if "machine" in one})
    return f"Measured on {'; '.join(machines)}." if machines else ""


def estimate(out):
    """A billion rows on 100 machines of two cores, from the measured cost of a row; nothing if it was not measured."""
    found = [row for row in Rows(out).large("files") if row["engine"] == "pool, without start-up"]
    if not found:
        return ""
    rate = number(found[0]["rows per core second"])
    hours = 1e9 / rate / 3600
    return (
        f"**A billion rows on 100 machines: an estimate, not a measurement.** At {rate:,.0f} rows per core second a "
        f"billion rows take {hours:.1f} core hours, and {60 * hours / 200:.1f} minutes on 100 machines of two such "
        "cores, in 4,000 parts of 250,000 rows, 20 per core, so that an uneven end costs a twentieth at most. Start-up "
        "adds about ten seconds per process. The input has 128 GB and the output about 50 GB: 1.8 GB per machine, a "
        "further quarter of a minute where the common disk gives each machine 120 MB per second, and the bottleneck "
        "where it gives less."
    )
