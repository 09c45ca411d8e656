"""All experiments into one ledger: `python -m experiments.run --data FOLDER [--quick] [--only NAME ...]`.

Every table is a script of its own and a process of its own; what it prints becomes a page of `docs/results/`, with the
command and the time it took, and `docs/results/index.md` lists the pages. A table that fails is named and the others
go on. Without --data only those run that live on generated data or on scikit-learn's.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Table:
    """One script: what it shows, whether it needs the data sets, takes `--peers`, and writes its page itself."""

    name: str
    title: str
    needs_data: bool = True
    takes_peers: bool = False
    writes_page: bool = False


TABLES = (
    Table("honesty", "What permuted labels give", needs_data=False),
    Table("table_a", "A. Similarity data", writes_page=True),
    Table("table_b", "B. Real-valued targets", writes_page=True),
    Table("table_c", "C. New rows on the map", needs_data=False, takes_peers=True),
    Table("posteriors", "Posteriors: Parzen, support vector machine, automatic", writes_page=True),
    Table("table_d", "D. The out-of-sample family"),
    Table("methods", "Every embedding, plain and Fisher", needs_data=False),
    Table("lattices", "SOM and GTM beside outside implementations", needs_data=False, takes_peers=True),
    Table("table_e", "E. Pictures of trained models"),
    Table("table_f", "F. Which features matter"),
    Table("table_g", "G. Transfer between spaces", writes_page=True),
    Table("table_h", "H. Mixtures of dissimilarities"),
    Table("supervised", "Supervised maps of the field", needs_data=False, takes_peers=True),
)


def run_table(table, args):
    """Run one script and write its page: (seconds, exit code)."""
    command = ["-m", f"experiments.{table.name}"]
    command += ["--data", args.data] if args.data else []
    command += ["--quick"] if args.quick or not args.data else []
    command += ["--peers", args.peers] if args.peers and table.takes_peers else []
    command += ["--out", args.out] if table.writes_page else []
    start = time.perf_counter()
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    page = Path(args.out) / f"{table.name}.md"
    if done.returncode == 0 and not table.writes_page:
        shown = " ".join(command).replace(str(args.data), "FOLDER").replace(str(args.peers), "PYTHON")
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(page_text(table, shown, done.stdout, seconds), encoding="utf-8")
    if done.returncode:
        print(done.stderr[-2000:], file=sys.stderr)
    return seconds, done.returncode


def page_text(table, command, output, seconds):
    """A page of results: the tables of the output as they are, other lines (but those of progress) as code."""
    lines = [f"# {table.title}", "", f"`python {command}`, {seconds:.0f} s.", ""]
    code: list[str] = []
    told = [line for line in output.splitlines() if not re.match(r"\{|\s*\d+ s$", line)]
    for line in [*told, "|"]:
        if line.startswith("|"):
            if code and any(text.strip() for text in code):
                lines += ["```text", *code, "```", ""]
            code = []
            lines.append(line)
        else:
            if lines[-1].startswith("|"):
                lines.append("")
            code.append(line)
    return "\n".join(lines[:-1]).rstrip() + "\n"


def write_index(folder):
    """The list of the pages that are there."""
    lines = ["# Results", "", "Paper and ours side by side; how each was made stands on its page.", ""]
    lines += [f"- [{t.title}]({t.name}.md)" for t in TABLES if (Path(folder) / f"{t.name}.md").exists()]
    (Path(folder) / "index.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main():
    """The command line; exit code 1 if a table failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder of the data sets")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--only", nargs="+", choices=[table.name for table in TABLES], help="some of the tables")
    parser.add_argument("--out", default="docs/results", help="folder of the pages (docs/results)")
    parser.add_argument("--peers", help="Python of an environment with umap-learn and openTSNE")
    args = parser.parse_args()
    failed = []
    for table in TABLES:
        if (args.only and table.name not in args.only) or (table.needs_data and not args.data):
            continue
        seconds, code = run_table(table, args)
        print(f"{table.name}: {'done' if code == 0 else f'failed with exit code {code}'}, {seconds:.0f} s", flush=True)
        failed += [table.name] if code else []
    if Path(args.out).exists():
        write_index(args.out)
    return int(bool(failed))


if __name__ == "__main__":
    raise SystemExit(main())
