"""From rows to a finished folder: fit, judge, write. `map` and `demo` differ only in where their rows come from."""

from __future__ import annotations

import importlib.util
import json
import shutil
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap._util.progress import Pace, time_left
from prismap.bundle import write_map, written_aside
from prismap.bundle._json import sealed
from prismap.cli.console import Console, in_options, to_json
from prismap.cli.folder import MODEL, PAGE, PICTURE, REPORT, VIEW, folder_aside, mark_of
from prismap.exceptions import InputError, PrismapWarning
from prismap.page import PageData, write_html
from prismap.page._folder import DATA
from prismap.page._message import write_page_file
from prismap.tables import TableEncoding, label_texts

#: Iterations of t-SNE; only a bar that shows how far an embedding is relies on them.
USUAL_ITERATIONS = 750


@dataclass(frozen=True)
class Job:
    """Rows ready to be mapped, and what is to be shown with them."""

    X: NDArray[np.float64] | list[Any]
    """Rows of numbers, or objects."""
    y: Any
    """The target; several by name; None without one."""
    encoding: TableEncoding | None
    """How the columns of the file became numbers; None for objects."""
    title: str
    options: Mapping[str, Any]
    """Arguments of `PrisMap`; those left out keep its defaults."""
    groups: Any = None
    """Which rows are not independent of each other, as `PrisMap.fit` takes it."""
    order: Any = None
    ids: NDArray[Any] | None = None
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """Values as the file has them, for the page."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """What the file of the map says besides: where the objects of a table are."""
    images: NDArray[np.uint8] | None = None
    target_name: str = "target"
    quick: bool = False
    """Whether the map is not to be judged."""
    budget: str | float | None = None
    """What may be spent on judging it."""
    given: Any = None
    """The levels of a column of no interest, which the map leaves out."""
    like: Any = None
    """Where the rows lie on an earlier map that this one is to be like."""
    forecast: bool = False
    """Whether it is judged on the last fifth of its rows in time."""


def run_job(job: Job, out: Path, console: Console, *, force: bool) -> None:
    """Fit the map and write the folder; then judge the map, write the folder again with the verdict, and print it.

    What fails after the fit does not cost the fit.
    """
    model = fit_map(job, console)
    with console.stage("drawing the page"):
        page = attempt(console, f"no {PAGE}: making the page", lambda: map_page(job, model))
    Y, far = map_positions(model, page)
    with console.stage("writing"), folder_aside(out, force=force) as folder:
        attempt(console, f"no {PICTURE}: drawing it", lambda: draw(job, model, Y, folder, console))
        files = write_map_and_page(job, model, (Y, far), page, folder, console)
    mark = mark_of(out)
    document: dict[str, Any] = {"out": str(out), "files": files, "report": None, "notes": console.notes}
    if job.quick:
        console.result(f"The map was not judged (--quick).\n\n{out}: {', '.join(files)}", document)
        return
    console.say(f"{out / PAGE if page is not None else out} is there; the verdict follows")
    judged = attempt(
        console, f"no {REPORT}: judging the map", lambda: judge_map(model, console, job.budget, forecast=job.forecast)
    )
    if judged is None:
        for note in stated_notes(job.groups):
            console.note(note)
        console.result(f"{out}: {', '.join(files)}", document)
        return
    # Notes that were written in between are not written twice.
    judged = replace(judged, notes=tuple(note for note in judged.notes if in_options(note) not in console.notes))
    if page is not None:
        page = attempt(console, f"no verdict in {PAGE}: making the page", lambda: verdict_page(page, model)) or page
    with console.stage("writing the verdict"), folder_aside(out, replacing=mark) as folder:
        for name in (PICTURE, VIEW):  # they do not change, and the user may be looking at the map already
            if (out / name).exists():
                shutil.copy2(out / name, folder / name)
        report = replace(judged, notes=(*judged.notes, *console.notes))
        with written_aside(folder / REPORT) as aside:
            aside.write_text(to_json(sealed(json.loads(to_json(report.to_dict())))), encoding="utf-8")
        document["files"] = files = write_map_and_page(job, model, (Y, far), page, folder, console)
    text = in_options(report.summary(f"prismap report {out} --details"))
    console.result(f"{text}\n\n{out}: {', '.join(files)}", {**document, "report": report.to_dict()})


def write_map_and_page(
    job: Job,
    model: Any,
    places: tuple[NDArray[Any], NDArray[Any]],
    page: PageData | None,
    folder: Path,
    console: Console,
) -> list[str]:
    """The files that a verdict changes; returns the names of all that the folder holds by then."""
    name = "map.parquet" if importlib.util.find_spec("pyarrow") else "map.csv"
    console.doing(f"{name}, {len(places[0]):,} rows")
    write_map(folder / name, map_rows(job, model, *places))
    console.doing(MODEL)
    model.save(folder / MODEL, extra_header={"title": job.title, **job.about})
    if page is not None:
        page = with_notes(page, console)
        console.doing(f"{DATA}, {page.n_rows:,} rows")
        write_page_file(page, folder / DATA)
        console.doing(f"{PAGE}, {page.n_rows:,} rows")
        write_html(page, folder / PAGE)
    return sorted(path.name for path in folder.iterdir())


def attempt(console: Console, what: str, work: Callable[[], Any]) -> Any:
    """The result of `work`, or None and a note: a fit may have taken hours, and is written without what failed.

    A disk that is full is not of this kind: nothing else could be written either.
    """
    try:
        return work()
    except OSError:
        raise
    except Exception as error:
        console.note(f"{what} failed ({type(error).__name__}: {error}); the map itself is complete.")
        return None


def with_notes(page: PageData, console: Console) -> PageData:
    """The page with what was noted on the way to it, each once."""
    return replace(page, notes=tuple(dict.fromkeys((*(in_options(note) for note in page.notes), *console.notes))))


def map_page(job: Job, model: Any) -> PageData:
    """The page of a map made of this job, not judged yet."""
    from prismap.page import page_of

    about: dict[str, Any] = {
        "title": job.title,
        "target_name": job.target_name,
        "images": job.images,
        "row_ids": label_texts(job.ids),
    }
    return page_of(model, columns=job.columns, features=False, judge=False, **about)


def verdict_page(page: PageData, model: Any) -> PageData:
    """The page of a map that has been judged."""
    from prismap.page._of_map import judged_page

    return judged_page(page, model, verbose=0)


def prismap_class() -> Any:
    """`PrisMap`, imported late: the import takes time, and --help does not need it."""
    from prismap.map import PrisMap

    return PrisMap


def load_model(path: Path, console: Console) -> Any:
    """The map in a file, or in a folder of `prismap map`."""
    with console.stage(f"loading {path}"):
        return prismap_class().load(path / MODEL if path.is_dir() else path)


def fit_map(job: Job, console: Console) -> Any:
    """The fitted `PrisMap`; an option it refuses is the user's mistake."""
    from prismap._util.params import InvalidParameterError
    from prismap.map._tables import with_table

    def follow(iteration: int, error: float, _: Any) -> bool:
        share = min(iteration / USUAL_ITERATIONS, 1.0)
        left = f" of {USUAL_ITERATIONS}{pace.left(iteration, USUAL_ITERATIONS)}" if by_tsne else ""
        console.doing(f"embedding, iteration {iteration}{left}, error {error:.4g}", share)
        return False

    pace, by_tsne = Pace(), job.options.get("method", "tsne") == "tsne"

    size = f"{len(job.X)} objects" if isinstance(job.X, list) else "{} rows, {} features".format(*job.X.shape)
    with console.stage(f"fitting a map of {size}"), warnings.catch_warnings():
        # Constant columns were named when the file was read.
        warnings.filterwarnings("ignore", message=".* columns are constant", category=PrismapWarning)
        try:
            model = prismap_class()(**job.options).fit(
                job.X, job.y, groups=job.groups, order=job.order, given=job.given, like=job.like, callback=follow,
                verbose=0,
            )  # fmt: skip
        except InvalidParameterError as error:
            raise InputError(str(error)) from error
    for note in model.notes_:
        if job.quick or note not in stated_notes(job.groups):
            console.note(note)
    return with_table(model, job.encoding, job.ids)


def stated_notes(dependence: Any) -> tuple[str, ...]:
    """What was noticed about rows that are not independent: a verdict states it, so that it need not be noted, too."""
    return tuple(getattr(dependence, "notes", ()))


def judge_map(model: Any, console: Console, budget: Any = None, *, forecast: bool = False) -> Any:
    """The report of a map; it is refitted several times for it."""
    with console.stage("judging it"), warnings.catch_warnings():
        warnings.simplefilter("ignore", PrismapWarning)  # the refits repeat the warnings of the map itself
        begin = perf_counter()

        def follow(done: int, total: int) -> None:
            # Maps are made several at a time: how long the first took says little about the others.
            left = time_left(done / total, perf_counter() - begin) if done > 1 else ""
            console.doing(f"{done} of {total} maps for comparison{left}", done / total)

        return model.report(budget=budget, forecast=forecast, callback=follow, verbose=0)


def map_positions(model: Any, page: PageData | None) -> tuple[NDArray[Any], NDArray[Any]]:
    """Positions of all rows that were given, and which of them are far; if there is a page, it has placed them."""
    Y, far = model.map_.placed if page is None else (page.layers[0].positions, page.far)
    return Y, np.asarray(far, dtype=bool)


def map_rows(job: Job, model: Any, Y: NDArray[Any], far: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """The columns of map.parquet."""
    columns = {
        "id": np.arange(len(Y)) if job.ids is None else job.ids,
        "x": Y[:, 0],
        "y": Y[:, 1],
        "split": np.where(np.isin(np.arange(len(Y)), model.fit_rows_), "fit", "placed"),
        "far": far,
    }
    if model.judgement_ is not None and model.judgement_.knows_trust:
        columns["trust"] = model.trust_.value
    if job.y is not None:
        several = job.y if isinstance(job.y, Mapping) else {"": job.y}
        columns |= {f"target_{name}" if place else "target": one for place, (name, one) in enumerate(several.items())}
    return columns


def draw(job: Job, model: Any, Y: NDArray[Any], folder: Path, console: Console) -> None:
    """map.png, if matplotlib is there."""
    if not importlib.util.find_spec("matplotlib"):
        console.note(f"no {PICTURE}: that needs matplotlib (pip install 'prismap[plot]')")
        return
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from prismap.inspection import MapDisplay
    from prismap.inspection._map import MOST_ENTRIES

    target = model.map_.given.target.shown
    many = target.n_classes > MOST_ENTRIES  # a long legend beside names on the map
    figure = Figure(figsize=(14, 9) if many else (8, 7), layout="constrained")  # without pyplot: no window
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    values = target.values if target.exists else None
    dates = job.encoding is not None and job.encoding.target in job.encoding.date_targets
    display: Any = MapDisplay(Y, values, target.classes, job.title, unit="date" if dates else None)
    display.plot(axes)
    with written_aside(folder / PICTURE) as aside:
        figure.savefig(aside, dpi=150, bbox_inches="tight")  # no margins beside a wide map
