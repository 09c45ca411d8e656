import numpy as np
import pytest
from scipy.stats import pearsonr

from prismap.exceptions import InputError
from prismap.quality import fidelity
from prismap.quality._fidelity import correlation, label_agreement
from reference.model_reference import signed_certainty_reference


def test_classifier_fidelity_is_agreement_and_correlation_of_certainty():
    rng = np.random.default_rng(0)
    labels, certainty = rng.choice(["a", "b"], 50), rng.random(50)
    back, certainty_back = labels.copy(), certainty + 0.3 * rng.random(50)
    back[:5] = "c"
    found = fidelity(labels, back, certainty=certainty, certainty_back=certainty_back)
    assert found.agreement == pytest.approx(0.9)
    assert found.certainty == pytest.approx(pearsonr(certainty, certainty_back)[0], abs=1e-12)
    assert found.output is None
    assert found.n_rows == 50
    assert str(found).startswith("labels agree on 90.0%, certainty r = 0.")


def test_two_classes_have_a_signed_certainty():
    rng = np.random.default_rng(1)
    value = rng.normal(size=60)
    back = value + 0.3 * rng.normal(size=60)
    labels, labels_back = (np.where(one > 0, "b", "a") for one in (value, back))
    sure = {"certainty": np.abs(value), "certainty_back": np.abs(back)}
    found = fidelity(labels, labels_back, classes=["a", "b"], **sure)
    assert found.signed_certainty == pytest.approx(signed_certainty_reference(value, back), abs=1e-12)
    assert found.certainty == pytest.approx(pearsonr(abs(value), abs(back))[0], abs=1e-12)
    assert f", with its sign {found.signed_certainty:.2f} (60 rows)" in str(found)
    assert fidelity(labels, labels_back, **sure).signed_certainty is None
    assert fidelity(labels, labels_back, classes=["a", "b", "c"], **sure).signed_certainty is None
    assert fidelity(labels, labels_back, classes=["a", "b"]).signed_certainty is None


def test_regression_fidelity_is_correlation_of_output():
    rng = np.random.default_rng(0)
    f = rng.normal(size=40)
    assert fidelity(f, 3 * f + 1, target="real").output == pytest.approx(1.0, abs=1e-12)
    assert fidelity(f, -f, target="real").output == pytest.approx(-1.0, abs=1e-12)
    assert fidelity(f, -f, target="real").agreement is None


def test_correlation_without_variation_is_not_a_number():
    assert np.isnan(correlation([1.0, 1.0], [0.0, 1.0]))
    assert fidelity([1.0, 1.0], [0.0, 1.0], target="real").to_dict()["output"] is None
    assert label_agreement([1, 2], [1, 3]) == 0.5


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"prediction_back": [1]}, "got shapes \\(2,\\) and \\(1,\\)"),
        ({"certainty": [0.1, 0.2]}, "certainty is needed both"),
        ({"certainty": [0.1], "certainty_back": [0.2]}, "certainty has 1 rows and prediction has 2"),
        ({"target": "none"}, "target must be 'class' or 'real'"),
    ],
)
def test_bad_input_is_named(given, message):
    given = {"prediction": [1, 2], "prediction_back": [1, 2], **given}
    with pytest.raises(InputError, match=message):
        fidelity(given.pop("prediction"), given.pop("prediction_back"), **given)
