"""A table made in parts: a run does the data sets it is asked for, the page is written from all that were done."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from experiments.common import markdown


def main(rows_of, sets, page):
    """The command line of a table: --data, --sets, --quick, --out.

    ``rows_of(data_folder, name, quick, done)`` yields the rows (dicts) of one data set; `sets` are the names there are;
    `page` is the text of the page, in which ``{table}`` stands for the rows. `done` are rows that an interrupted run
    left, with --resume: those may be yielded again as they are.
    """
    parser = argparse.ArgumentParser(description=page.split("\n")[0].lstrip("# "))
    parser.add_argument("--data", help="folder of the data sets")
    parser.add_argument("--sets", nargs="+", choices=sets, default=list(sets), help="data sets to do (default: all)")
    parser.add_argument("--quick", action="store_true", help="one run, or fewer rows")
    parser.add_argument("--resume", action="store_true", help="keep the rows that an interrupted run left")
    parser.add_argument("--out", type=Path, help="folder for the page and its figures; earlier parts are kept")
    args = parser.parse_args()
    name = Path(rows_of.__code__.co_filename).stem
    done = {}
    if args.out and (args.out / f"{name}.json").exists():
        done = json.loads((args.out / f"{name}.json").read_text(encoding="utf-8"))
    for one in args.sets:
        old = done.get(one, []) if args.resume else []
        done[one], start = [], time.perf_counter()
        for row in rows_of(args.data, one, args.quick, old):
            done[one].append(row)
            if args.out:
                write(args.out, name, page, sets, done)
        print(f"\n{markdown(done[one])}\n\n{one}: {time.perf_counter() - start:.0f} s", flush=True)


def write(folder, name, page, sets, done):
    """The page and the figures so far."""
    folder.mkdir(parents=True, exist_ok=True)
    table = markdown([row for one in sets for row in done.get(one, [])])
    (folder / f"{name}.md").write_text(page.format(table=table), encoding="utf-8")
    (folder / f"{name}.json").write_text(json.dumps(done, indent=1), encoding="utf-8")
