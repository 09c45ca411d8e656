"""Golden files are read, and place new rows where the version that wrote them did."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from prismap import PrisMap

FILES = sorted((Path(__file__).parent.parent / "golden").rglob("*.prismap"))


def test_there_are_golden_files():
    assert len(FILES) >= 21


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_places_rows_as_the_version_that_wrote_it(path):
    model = PrisMap.load(path)
    with np.load(path.with_suffix(".npz")) as golden:
        rows = sp.csr_array(golden["rows"]) if "sparse" in golden else golden["rows"]
        Y, far = model.place(rows)
        np.testing.assert_allclose(Y, golden["positions"], rtol=0, atol=1e-4 * np.ptp(model.embedding_))
        np.testing.assert_array_equal(far, golden["far"])
