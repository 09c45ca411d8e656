"""From rows to a finished folder: fit, judge, write. `map` and `demo` differ only in where their rows come from."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap.bundle import write_map, written_aside
from prismap.cli.console import Console, to_json
from prismap.cli.folder import MODEL, PAGE, PICTURE, REPORT, folder_aside
from prismap.tables import TableEncoding


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


def run_job(job: Job, out: Path, console: Console) -> None:
    """Fit the map, judge it, write the folder and print the report."""
    from prismap.map import PrisMap  # heavy: not for --help

    n_rows, n_features = job.X.shape
    model = PrisMap(**job.options)
    with console.stage(f"fitting a map of {n_rows} rows, {n_features} features"):
        model.fit(job.X, job.y)
    with console.stage("judging it"):
        report = model.report()
    report = replace(report, notes=(*report.notes, *console.notes))
    with console.stage("writing"), folder_aside(out) as folder:
        rows = _map_rows(job, model)
        write_map(folder / ("map.parquet" if importlib.util.find_spec("pyarrow") else "map.csv"), rows)
        model.save(folder / MODEL, extra_header={"table": job.encoding.to_dict(), "title": job.title})
        with written_aside(folder / REPORT) as aside:
            aside.write_text(to_json(report.to_dict()), encoding="utf-8")
        model.to_html(folder / PAGE)
        _draw(model, job, folder, console)
        files = sorted(path.name for path in folder.iterdir())
    console.result(
        f"{report}\n\n{out}: {', '.join(files)}", {"out": str(out), "files": files, "report": report.to_dict()}
    )


def _map_rows(job: Job, model: Any) -> dict[str, NDArray[Any]]:
    """The columns of map.parquet."""
    n_rows = len(job.X)
    fitted = np.zeros(n_rows, dtype=bool)
    fitted[model.fit_rows_] = True
    Y = model.transform(job.X)
    Y[model.fit_rows_] = model.embedding_
    columns = {
        "id": np.arange(n_rows) if job.ids is None else job.ids,
        "x": Y[:, 0],
        "y": Y[:, 1],
        "split": np.where(fitted, "fit", "placed"),
        "far": model.is_far(job.X),
    }
    if job.y is not None:
        columns["target"] = job.y
    return columns


def _draw(model: Any, job: Job, folder: Path, console: Console) -> None:
    """map.png, if matplotlib is there."""
    if not importlib.util.find_spec("matplotlib"):
        console.note(f"no {PICTURE}: that needs matplotlib (pip install 'prismap[plot]')")
        return
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 7), layout="constrained")  # without pyplot: no window, no global state
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    model.plot(ax=axes)
    axes.set_title(job.title)
    with written_aside(folder / PICTURE) as aside:
        figure.savefig(aside, dpi=150)
