"""From rows to a finished folder: fit, judge, write. `map` and `demo` differ only in where their rows come from."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Mapping
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

    X: NDArray[np.float64]
    y: NDArray[Any] | None
    encoding: TableEncoding
    title: str
    options: Mapping[str, Any]
    """Arguments of `PrisMap`; those left out keep its defaults."""
    ids: NDArray[Any] | None = None
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """Values as the file has them, for the page."""
    images: NDArray[np.uint8] | None = None
    target_name: str = "target"
    quick: bool = False
    """Whether the map is not to be judged."""


def run_job(job: Job, out: Path, console: Console, *, force: bool) -> None:
    """Fit the map, judge it, write the folder and print the report."""
    model = fit_map(job, console)
    judged = None if job.quick else judge_map(model, console)
    if judged is not None:  # what was said in between is not said twice
        judged = replace(judged, notes=tuple(note for note in judged.notes if note not in console.notes))
    report = None if judged is None else replace(judged, notes=(*judged.notes, *console.notes))
    with console.stage("writing"), folder_aside(out, force=force) as folder:
        page = map_page(job, model)
        name = "map.parquet" if importlib.util.find_spec("pyarrow") else "map.csv"
        write_map(folder / name, map_rows(job, page))
        model.save(folder / MODEL, extra_header={"title": job.title})
        if report is not None:
            with written_aside(folder / REPORT) as aside:
                aside.write_text(to_json(report.to_dict()), encoding="utf-8")
        page = with_notes(page, console)
        write_page_file(page, folder / DATA)
        write_html(page, folder / PAGE)
        draw(job, model, page, folder, console)
        files = sorted(path.name for path in folder.iterdir())
    printed = report if console.quiet else judged  # the other notes have been said
    told = "The map was not judged (--quick)." if printed is None else str(printed)
    document = None if report is None else report.to_dict()
    console.result(f"{told}\n\n{out}: {', '.join(files)}", {"out": str(out), "files": files, "report": document})


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

    n_rows, n_features = job.X.shape
    with console.stage(f"fitting a map of {n_rows} rows, {n_features} features"), warnings.catch_warnings():
        # Constant columns were named when the file was read.
        warnings.filterwarnings("ignore", message=".* columns are constant", category=PrismapWarning)
        try:
            model = prismap_class()(**job.options).fit(job.X, job.y, callback=follow)
        except InvalidParameterError as error:
            raise InputError(str(error)) from error
    return model.remember_table(job.encoding, index=job.ids)


def judge_map(model: Any, console: Console) -> Any:
    """The report of a map; it is refitted several times for it."""
    with console.stage("judging it"), warnings.catch_warnings():
        warnings.simplefilter("ignore", PrismapWarning)  # what the refits warn of was said of the map itself
        return model.report(
            callback=lambda done, total: console.doing(f"{done} of {total} maps for comparison", done / total)
        )


def map_rows(job: Job, page: PageData) -> dict[str, NDArray[Any]]:
    """The columns of map.parquet; the rows were placed when the page was made."""
    Y = page.layers[0].positions
    placed = np.zeros(page.n_rows, dtype=bool) if page.split is None else np.asarray(page.split) == "placed"
    columns = {
        "id": np.arange(page.n_rows) if job.ids is None else job.ids,
        "x": Y[:, 0],
        "y": Y[:, 1],
        "split": np.where(placed, "placed", "fit"),
        "far": np.asarray(page.far, dtype=bool),
    }
    if job.y is not None:
        columns["target"] = job.y
    return columns


def draw(job: Job, model: Any, page: PageData, folder: Path, console: Console) -> None:
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
    display: Any = MapDisplay(page.layers[0].positions, model.shown_target(), classes, job.title)
    display.plot(axes)
    with written_aside(folder / PICTURE) as aside:
        figure.savefig(aside, dpi=150)
