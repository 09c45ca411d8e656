"""Values that hold arrays are printed in one short line, as the last line of a notebook's cell would show them."""

import doctest

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.svm import SVC

from prismap import PrisMap
from prismap._util import repr as _brief
from prismap.inspection import FisherDisplay, ModelView
from prismap.metrics import FisherMetric
from prismap.quality import r_nx
from prismap.tables import read_table

X, Y = load_iris(return_X_y=True)


def test_what_a_value_is_in_words():
    assert doctest.testmod(_brief).failed == 0


def table(folder):
    path = folder / "flowers.csv"
    np.savetxt(path, X, delimiter=",", header="a,b,c,d", comments="")
    return read_table(path)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda folder: r_nx(X, X[:, :2]), "RankCurve(kind='r_nx', k=array (148,)"),
        (lambda folder: ModelView.from_estimator(SVC().fit(X, Y), X, Y, grid_resolution=5), "positions=array (150, 2)"),
        (
            lambda folder: FisherDisplay.from_estimator(FisherMetric(random_state=0).fit(X[:, :2], Y)),
            "FisherDisplay(rows=array (150, 2)",
        ),
        (lambda folder: PrisMap(random_state=0).fit(X, Y).map_, "rows=array (150, 4)"),
        (table, "Table(columns=dict of 4, n_rows=150"),
    ],
)
def test_a_value_with_arrays_is_printed_by_their_shapes(make, told, tmp_path):
    said = repr(make(tmp_path))
    assert told in said
    assert "\n" not in said
    assert len(said) < 1000
    assert "=None" not in said
