"""An experiment is a script of parts; a part yields rows; the page is written from the rows of all parts done.

A script has `PARTS`, functions by name from `Options` to rows (dicts), the names of those that need no data set in
`WITHOUT_DATA`, if any, and `READING`, what we see in the figures. Its docstring opens the page, and it ends with
``main(sys.modules[__name__])``. Parts can be run one by one, side by side or again: each leaves a file of rows, and
pictures called `SCRIPT*.png` beside the page. A script may also have `page_summary`, from the folder of the page to a
text that stands before the tables (or, where `SHOWS_ALL`, in their place, with its pictures), `COMMAND`, how the page
is made, and `page_end`, from what was kept to blocks that say this and which code measured what. Figures that `READING`
has in braces are taken from the rows: `QUOTED` says for each name in which part, row (by some of its cells) and column,
or is a function of all that was kept.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from experiments.common import processor_seconds
from prismap import PrisMap, __version__
from prismap.bundle import written_aside

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results"
#: What `PrisMap` did by default when rows were measured that do not say it.
FORMER_DEFAULTS = {"supervision": 0.8, "mapping": "fisher"}
EARLIER = "before rows were kept with their commit"


@dataclass(frozen=True)
class Options:
    """What a part is told: folder of the data sets, whether small sizes do, Python of the peers, folder of pictures.

    `folder` is where large files and what long runs leave may lie; without it, in a passing folder.
    """

    data: str | None = None
    quick: bool = False
    peers: str | None = None
    out: Path | None = None
    folder: Path | None = None


def main(script):
    """The command line of one experiment."""
    name = script_name(script)
    parser = argparse.ArgumentParser(description=title(script), epilog=explanation(script))
    add_options(parser)
    parser.add_argument("--parts", nargs="+", choices=list(script.PARTS), help="some of the parts (all)")
    args = parser.parse_args()
    for part in args.parts or feasible(script, args.data):
        seconds = do_part(script, part, Options(args.data, args.quick, args.peers, args.out, args.folder))
        print(f"{name}, {part}: {seconds:.0f} s", flush=True)
        if args.out:
            write_page(script, args.out)


def add_options(parser):
    """The options that one experiment and all of them share."""
    parser.add_argument("--data", help="folder of the data sets; without it, parts on generated or bundled data only")
    parser.add_argument("--quick", action="store_true", help="smaller sizes, fewer runs")
    parser.add_argument("--peers", help="Python of an environment with the packages of others, such as umap-learn")
    parser.add_argument("--out", type=Path, help="folder for the page, its rows and its pictures")
    parser.add_argument("--folder", type=Path, help="where large files may lie and what long runs leave is found")


def feasible(script, data):
    """The parts that can run: all of them with a folder of data sets."""
    return [part for part in script.PARTS if data or part in getattr(script, "WITHOUT_DATA", ())]


def do_part(script, part, options):
    """Make the rows of one part, show them as they come and keep them; seconds of the processor, peers included."""
    if options.out:  # parts put their pictures there, too
        (options.out / "rows").mkdir(parents=True, exist_ok=True)
    rows, start, code = [], processor_seconds(), commit()  # of the code that begins: it may go on while a part runs
    for row in script.PARTS[part](options):
        rows.append(row)
        print("  ".join(f"{key}={cell(value)}" for key, value in row.items()), flush=True)
    seconds = processor_seconds() - start
    if options.out:
        kept = {"rows": rows, "seconds": round(seconds), "quick": options.quick, "version": __version__}
        kept |= {"commit": code, "machine": machine()}
        kept["defaults"] = {name: getattr(PrisMap(), name) for name in FORMER_DEFAULTS}
        text = json.dumps(kept, indent=1, default=lambda value: value.item())
        write_whole(rows_path(script, part, options.out), text + "\n")
    return seconds


def write_page(script, out):
    """The page of an experiment from the parts that are done, and what they left."""
    paths = {part: rows_path(script, part, out) for part in script.PARTS}
    found = {part: json.loads(path.read_text(encoding="utf-8")) for part, path in paths.items() if path.exists()}
    name, blocks = script_name(script), [f"# {title(script)}", explanation(script)]
    if any(kept["quick"] for kept in found.values()):
        blocks.append("**Small sizes: a trial of the script.**")
    if found and hasattr(script, "page_summary"):
        blocks.append(script.page_summary(out))
    blocks.append(reading(script, found))
    shown = {} if getattr(script, "SHOWS_ALL", False) else found
    for part, kept in shown.items():
        blocks += [f"## {part}", markdown(kept["rows"])]
    if shown:
        blocks += [f"![{path.stem.replace('_', ' ')}]({path.name})" for path in sorted(out.glob(f"{name}*.png"))]
    blocks += script.page_end(found) if hasattr(script, "page_end") else page_end(script, found)
    if found:
        write_whole(out / f"{name}.md", "\n\n".join(filter(None, blocks)) + "\n")
    return found


def page_end(script, found):
    """How the page is made, what each part took, which code measured it, and what was not done."""
    seconds = ", ".join(f"{part} {kept['seconds']}" for part, kept in found.items() if "seconds" in kept)
    version = ", ".join(sorted({kept["version"] for kept in found.values()}))
    command = getattr(script, "COMMAND", f"python -m experiments.{script_name(script)} --data FOLDER")
    yield f"`{command}`, prismap {version}; seconds of each part: {seconds}."
    if found:
        yield from runs_of(found, default_maps=hasattr(script, "PrisMap"))
    if missing := [part for part in script.PARTS if part not in found]:
        yield f"Not done: {', '.join(missing)}."


def reading(script, found):
    """What we see in the figures, with those that are quoted taken from the rows."""
    text = getattr(script, "READING", "").strip()
    names = getattr(script, "QUOTED", {})
    figures = {name: place(found) if callable(place) else quoted(found, *place) for name, place in names.items()}
    return text.format(**figures) if names else text


def quoted(found, part, row, column):
    """The cell of a column in the only row of a part that has these cells; "-" where the part is not done."""
    if part not in found:
        return "-"
    (match,) = [one for one in found[part]["rows"] if row.items() <= one.items()]
    return cell(match[column])


def write_whole(path, text):
    """Write a file that parts which run side by side read: they see the former one or the new one, never a piece."""
    with written_aside(path) as aside:
        aside.write_text(text, encoding="utf-8")


def runs_of(found, *, default_maps):
    """Sentences on the code that measured the parts, which need not be the same for all, and on its default maps."""
    commits = grouped(found, lambda kept: f"at commit {kept['commit']}" if kept.get("commit") else EARLIER)
    yield f"Measured {each(commits)}."
    if default_maps:
        settings = grouped(found, lambda kept: call(kept.get("defaults", FORMER_DEFAULTS)))
        yield f"Where a row does not say otherwise, its map has the defaults of the time: {each(settings)}."


def each(groups):
    """Groups of parts in words; the only one without its parts."""
    if len(groups) == 1:
        return next(iter(groups))
    return "; ".join(f"{name} ({', '.join(parts)})" for name, parts in groups.items())


def grouped(found, key):
    """Parts by something that their rows were kept with."""
    groups = {}
    for part, kept in found.items():
        groups.setdefault(key(kept), []).append(part)
    return groups


def call(settings):
    """Settings as one writes them."""
    return "`" + ", ".join(f"{name}={value!r}" for name, value in settings.items()) + "`"


def commit():
    """The commit of the code, empty where there is no repository."""
    return (git("rev-parse", "--short", "HEAD") or "").strip()


def is_unchanged_since(earlier):
    """Whether the library is what it was at a commit; of a commit that was not kept or is not known it is not.

    The explorer does not count: it shows maps, and no experiment asks it.
    """
    library = ("src", ":(exclude)src/prismap/page")
    return bool(earlier) and git("diff", "--quiet", earlier, "--", *library) is not None


def git(*words):
    """What git prints about the project, None where it fails."""
    command = ["git", "-C", str(RESULTS.parents[1]), *words]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None


def machine():
    """What the rows were measured on, as far as a ratio may depend on it."""
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def rows_path(script, part, out):
    """Where the rows of a part are kept."""
    return out / "rows" / f"{script_name(script)}.{file_name(part)}.json"


def file_name(part):
    """The name of a part as that of a file."""
    return re.sub(r"[^a-z0-9]+", "_", part.lower())


def script_name(script):
    """Name of the script's file."""
    return Path(script.__file__).stem


def title(script):
    """First line of the docstring."""
    return script.__doc__.strip().split("\n")[0].rstrip(".")


def explanation(script):
    """The docstring without its first line."""
    return script.__doc__.strip().partition("\n")[2].strip()


def markdown(rows):
    """Rows (dicts) as a Markdown table; floats with one decimal."""
    names = list(dict.fromkeys(key for row in rows for key in row))
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    lines += ["| " + " | ".join(cell(row.get(name, "")) for name in names) + " |" for row in rows]
    return "\n".join(lines)


def cell(value):
    """A table cell."""
    return f"{value:.1f}" if isinstance(value, float) else str(value).strip().replace("|", r"\|")
