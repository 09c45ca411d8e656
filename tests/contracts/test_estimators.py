"""scikit-learn's own checks of the metrics and of the main object."""

import subprocess
import sys

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from prismap import PrisMap
from prismap.metrics import FisherMetric

ESTIMATORS = [
    FisherMetric(perplexity=5, random_state=0),
    FisherMetric(perplexity=5, posterior="parzen", path="tangent", random_state=0),
    PrisMap(random_state=0),
]


@pytest.mark.filterwarnings("ignore::prismap.exceptions.PrismapWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_import_stays_light():
    """`import prismap` brings nothing but itself; the rooms come when they are asked for."""
    code = "import sys, prismap; print([m for m in ('sklearn', 'scipy', 'openTSNE', 'matplotlib') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


def test_public_names_are_there():
    import prismap

    for name in prismap.__all__:
        assert getattr(prismap, name)
    assert "metrics" in dir(prismap)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = prismap.nonsense
