"""From rows to a finished folder: fit, judge, write. `map` and `demo` differ only in where their rows come from."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap.bundle import write_map, written_aside
from prismap.cli.console import Console, to_json
from prismap.cli.folder import DATA, MODEL, PAGE, PICTURE, REPORT, folder_aside
from prismap.exceptions import InputError, PrismapWarning
from prismap.explorer import write_html
from prismap.page_data import PageData, write_page_file
from prismap.tables import TableEncoding, label_texts

#: Iterations of a usual embedding; only a bar that shows how far it is relies on them.
USUAL_ITERATIONS = 750


@dataclass(frozen=True)
class Job:
    """Rows ready to be mapped, and what is to be shown with them."""

    X: NDArray[np.float64] | list[Any]
    """Rows of numbers, or objects."""
    y: NDArray[Any] | None
    encoding: TableEncoding | None
    """How the columns of the file became numbers; None for objects."""
    title: str
    options: Mapping[str, Any]
    """Arguments of `PrisMap`; those left out keep its defaults."""
    ids: NDArray[Any] | None = None
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)
    """What the file of the map says besides: where the objects of a table are."""
    """Values as the file has them, for the page."""
    images: NDArray[np.uint8] | None = None
    target_name: str = "target"
    quick: bool = False
    """Whether the map is not to be judged."""
    budget: str | float | None = None
    """What may be spent on judging it."""


def run_job(job: Job, out: Path, console: Console, *, force: bool) -> None:
    """Fit the map, judge it, write the folder and print the report. What fails after the fit does not cost the fit."""
    model = fit_map(job, console)
    judged = None
    if not job.quick:
        judged = attempt(
            console, f"no {REPORT} and no {PAGE}: judging the map", lambda: judge_map(model, console, job.budget)
        )
    if judged is not None:  # what was said in between is not said twice
        judged = replace(judged, notes=tuple(note for note in judged.notes if note not in console.notes))
    with console.stage("writing"), folder_aside(out, force=force) as folder:
        page = None
        if job.quick or judged is not None:
            page = attempt(console, f"no {PAGE}: making the page", lambda: map_page(job, model))
        Y, far = map_positions(model, page)
        name = "map.parquet" if importlib.util.find_spec("pyarrow") else "map.csv"
        write_map(folder / name, map_rows(job, model, Y, far))
        model.save(folder / MODEL, extra_header={"title": job.title, **job.about})
        attempt(console, f"no {PICTURE}: drawing it", lambda: draw(job, model, Y, folder, console))
        if page is not None:
            page = with_notes(page, console)
            write_page_file(page, folder / DATA)
            write_html(page, folder / PAGE)
        if judged is not None:
            report = replace(judged, notes=(*judged.notes, *console.notes))
            with written_aside(folder / REPORT) as aside:
                aside.write_text(to_json(report.to_dict()), encoding="utf-8")
        files = sorted(path.name for path in folder.iterdir())
    document = {"out": str(out), "files": files, "report": None, "notes": console.notes}
    if judged is None:
        told = "The map was not judged (--quick).\n\n" if job.quick else ""
        console.result(f"{told}{out}: {', '.join(files)}", document)
        return
    printed = report if console.quiet else judged  # the other notes have been said
    console.result(f"{printed}\n\n{out}: {', '.join(files)}", {**document, "report": report.to_dict()})


def attempt(console: Console, what: str, work: Callable[[], Any]) -> Any:
    """The result of `work`, or None and a note: a map that took hours is written without what cannot be had.

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
    return replace(page, notes=tuple(dict.fromkeys((*page.notes, *console.notes))))


def map_page(job: Job, model: Any, *, judge: bool | None = None) -> PageData:
    """The page of a map made of this job; judged unless the job is to be quick."""
    from prismap.pages import page_of

    about = {"title": job.title, "target_name": job.target_name, "images": job.images, "row_ids": label_texts(job.ids)}
    judge = not job.quick if judge is None else judge
    return page_of(model, columns=job.columns, features=False, judge=judge, **about)


def prismap_class() -> Any:
    """`PrisMap`, imported late: it is heavy, and --help can do without."""
    from prismap.map import PrisMap

    return PrisMap


def load_model(path: Path, console: Console) -> Any:
    """The map in a file, or in a folder of `prismap map`."""
    with console.stage(f"loading {path}"):
        return prismap_class().load(path / MODEL if path.is_dir() else path)


def fit_map(job: Job, console: Console) -> Any:
    """The fitted `PrisMap`; an option it refuses is the user's mistake."""
    from sklearn.utils._param_validation import InvalidParameterError

    def follow(iteration: int, error: float, _: Any) -> bool:
        console.doing(f"embedding, iteration {iteration}, error {error:.4g}", iteration / USUAL_ITERATIONS)
        return False

    size = f"{len(job.X)} objects" if isinstance(job.X, list) else "{} rows, {} features".format(*job.X.shape)
    with console.stage(f"fitting a map of {size}"), warnings.catch_warnings():
        # Constant columns were named when the file was read.
        warnings.filterwarnings("ignore", message=".* columns are constant", category=PrismapWarning)
        try:
            model = prismap_class()(**job.options).fit(job.X, job.y, callback=follow)
        except InvalidParameterError as error:
            raise InputError(str(error)) from error
    return model.remember_table(job.encoding, index=job.ids)


def judge_map(model: Any, console: Console, budget: Any = None) -> Any:
    """The report of a map; it is refitted several times for it."""
    with console.stage("judging it"), warnings.catch_warnings():
        warnings.simplefilter("ignore", PrismapWarning)  # what the refits warn of was said of the map itself

        def follow(done: int, total: int) -> None:
            console.doing(f"{done} of {total} maps for comparison", done / total)

        return model.report(budget=budget, callback=follow)


def map_positions(model: Any, page: PageData | None) -> tuple[NDArray[Any], NDArray[Any]]:
    """Positions of all rows that were given, and which of them are far; if there is a page, it has placed them."""
    from prismap.pages.of_map import all_positions

    Y, far = all_positions(model, model.parts_) if page is None else (page.layers[0].positions, page.far)
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
    if model.knows_trust():
        columns["trust"] = model.trust_.value
    if job.y is not None:
        columns["target"] = job.y
    return columns


def draw(job: Job, model: Any, Y: NDArray[Any], folder: Path, console: Console) -> None:
    """map.png, if matplotlib is there."""
    if not importlib.util.find_spec("matplotlib"):
        console.note(f"no {PICTURE}: that needs matplotlib (pip install 'prismap[plot]')")
        return
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from prismap.inspection import MapDisplay

    figure = Figure(figsize=(8, 7), layout="constrained")  # without pyplot: no window, no global state
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    classes = model.classes_ if model.target_ == "class" else None
    display: Any = MapDisplay(Y, model.shown_target(), classes, job.title)
    display.plot(axes)
    with written_aside(folder / PICTURE) as aside:
        figure.savefig(aside, dpi=150)
