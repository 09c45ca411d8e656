"""A small map with something of everything, as a page and as a folder."""

import json

import numpy as np
import pytest

from prismap.bundle import write_map
from prismap.bundle._json import sealed
from prismap.page import Layer, PageData, Target, write_html


@pytest.fixture
def small_map():
    rng = np.random.default_rng(0)
    codes = np.arange(12) % 3
    return PageData(
        title="twelve rows",
        layers=[Layer("fisher", "Fisher", rng.normal(size=(12, 2)).astype(np.float32)),
                Layer("permuted", "Permuted", rng.normal(size=(12, 2)).astype(np.float32))],
        target=Target("class", "kind", ["a", "b", "=c"], codes=codes),
        columns={"size": np.arange(12.0), "city": ["Ulm", None, "=1+1"] * 4},
        split=["fit"] * 8 + ["placed"] * 4,
        far=np.arange(12) == 5,
        report={"verdict": "The labels show."},
    )  # fmt: skip


@pytest.fixture
def folder(small_map, tmp_path):
    path = tmp_path / "out"
    path.mkdir()
    write_html(small_map, path / "map.html")
    positions = small_map.layers[0].positions
    classes = np.array(small_map.target.classes, dtype=object)
    rows = {
        "id": np.arange(12), "x": positions[:, 0], "y": positions[:, 1], "far": small_map.far,
        "split": np.array(small_map.split, dtype=object), "target": classes[small_map.target.codes],
        "extra": np.arange(12) / 2,
    }  # fmt: skip
    write_map(path / "map.parquet", rows)
    (path / "report.json").write_text(json.dumps(sealed(small_map.report)))
    return path
