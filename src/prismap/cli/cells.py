"""`prismap apply MODEL cells.h5ad -o placed.h5ad`: a copy of the cells with their positions in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prismap.bundle import written_aside
from prismap.cli.console import Console
from prismap.cli.job import load_model
from prismap.exceptions import InputError
from prismap.tables import open_cells, reader_of


def place_cells(model_path: Path, source: Path, out: Path, console: Console, *, force: bool) -> None:
    """Write the cells of a file with `obsm["X_prismap"]`, `obs["prismap_far"]` and `uns["prismap"]`."""
    if reader_of(source) != "cells":
        raise InputError(f"-o {out} is a copy of the cells that are read, and {source} holds none (.h5ad).")
    if out.exists() and not force:
        raise InputError(f"{out} is there already: --force replaces it.")
    if out.exists() and out.samefile(source):
        raise InputError(f"{out} is the file to read; name another.")
    model: Any = load_model(model_path, console)
    with console.stage(f"placing the cells of {source}"):
        cells = open_cells(source).to_memory()
        model.to_anndata(cells)
    with console.stage(f"writing {out}"), written_aside(out) as aside:
        cells.write_h5ad(aside)
    far = int(cells.obs["prismap_far"].sum())
    console.result(
        f"{cells.n_obs} cells placed, {far} of them far from all cells of the map: {out} (obsm['X_prismap'])",
        {"out": str(out), "rows": cells.n_obs, "far": far},
    )
