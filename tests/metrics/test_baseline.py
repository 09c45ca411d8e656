"""Explicit and rule-of-thumb widths, and regularisation by the permuted-label baseline, against their slow twins."""

import numpy as np
import pytest
import scipy.sparse as sp

from prismap import PrisMap
from prismap._util.affinities import bandwidths
from prismap.embeddings import KernelDiscriminant
from prismap.exceptions import InputError, PrismapWarning
from prismap.metrics import FisherMetric, Parzen
from prismap.metrics._baseline import EXPECTED_SHARE, as_expected, chance_error, neighbor_error
from prismap.metrics.posteriors._parzen import rule_of_thumb
from reference.baseline_reference import chance_reference, neighbor_error_reference, rule_of_thumb_reference
from reference.fisher_reference import printed_posterior


@pytest.fixture(scope="module")
def noise():
    """60 rows in 12 dimensions whose labels mean nothing: what an in-sample estimate shows is learnt by heart."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 12)), rng.integers(2, size=60)


def metric_of(noise, **options):
    return FisherMetric(**{"perplexity": 5, "random_state": 0, "n_segments": 1, "path": "chord", **options}).fit(*noise)


def test_rule_of_thumb_equals_the_formula(noise):
    X = noise[0] * np.arange(1, 13)
    expected = rule_of_thumb_reference(X)
    assert rule_of_thumb(X) == pytest.approx(expected, rel=1e-12)
    assert rule_of_thumb(sp.csr_matrix(X)) == pytest.approx(expected, rel=1e-12)
    assert rule_of_thumb(X[:, :1]) == pytest.approx(1.0592 * X[:, 0].std() * 60**-0.2, rel=1e-4)  # h_rot
    assert rule_of_thumb(np.ones((5, 2))) == 1.0


def test_widths_by_name_and_by_number(noise):
    X, _ = noise
    named = metric_of(noise, posterior=Parzen(40, bandwidth="silverman"))
    assert named.bandwidth_ == pytest.approx(rule_of_thumb_reference(X[named.support_]))
    given = metric_of(noise, posterior=Parzen(40, bandwidth=named.bandwidth_))
    np.testing.assert_allclose(named.pairwise(), given.pairwise(), rtol=1e-12)
    assert named.posterior_.density.bandwidth == named.bandwidth_


def test_published_widths_are_those_of_the_printed_formula(noise):
    """Eq. 4 with the sigma that the common program prints: ``sqrt(1 / beta)`` of ``exp(-beta d^2)``."""
    X, y = noise
    usual = metric_of(noise, posterior=Parzen(), cross_fit=False)
    D2 = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    np.fill_diagonal(D2, np.inf)
    beta = 0.5 / bandwidths(D2, 5) ** 2
    printed_sigma = np.mean(np.sqrt(1 / beta))
    assert metric_of(noise, posterior=Parzen(bandwidth="matlab")).bandwidth_ == pytest.approx(printed_sigma, rel=1e-6)
    published = metric_of(noise, posterior=Parzen(bandwidth="published"), cross_fit=False)
    assert published.bandwidth_ == pytest.approx(2 * usual.bandwidth_)
    expected = [printed_posterior(x, X, y, 2, printed_sigma) for x in X]
    np.testing.assert_allclose(published.class_probabilities(), expected, rtol=1e-5)


@pytest.mark.parametrize("wrong", ["scott", 0.0, -1, True, np.inf])
def test_a_width_that_is_none_is_refused(noise, wrong):
    with pytest.raises(InputError, match="bandwidth must be a positive number, 'silverman'"):
        metric_of(noise, posterior=Parzen(bandwidth=wrong))


def test_the_rule_of_thumb_needs_columns(noise):
    X, y = noise
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    with pytest.raises(InputError, match="a matrix between rows has none"):
        FisherMetric(data="dissimilarity", posterior=Parzen(bandwidth="silverman")).fit(D, y)


def test_a_map_with_the_rule_of_thumb_is_saved(noise, tmp_path):
    X, y = noise
    metric = FisherMetric(posterior=Parzen("baseline", bandwidth="silverman"), cross_fit=False)
    fitted = PrisMap("mds", metric=metric, supervision=0.8, perplexity=5, random_state=0).fit(X, y)
    fitted.save(tmp_path / "one.prismap")
    again = PrisMap.load(tmp_path / "one.prismap")
    assert again.metric_.bandwidth_ == fitted.metric_.bandwidth_ == pytest.approx(
        rule_of_thumb_reference(fitted.rows_[fitted.metric_.support_])
    )  # fmt: skip
    np.testing.assert_array_equal(again.transform(X + 0.1), fitted.transform(X + 0.1))


def test_errors_equal_the_slow_twins(noise):
    X, y = noise
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    every = np.arange(60)
    assert neighbor_error(D, every, y) == pytest.approx(neighbor_error_reference(D, y))
    some = every[::-3]
    assert neighbor_error(D[some], some, y) == pytest.approx(
        np.mean([neighbor_error(D[[i]], np.array([i]), y) for i in some])
    )
    assert chance_error(np.r_[y, -1, -1]) == pytest.approx(chance_reference(y))


def test_the_first_candidate_as_expected_is_taken():
    errors = {4: 0.1, 3: 0.3, 2: 0.46, 1: 0.5}
    assert as_expected([4, 3, 2, 1], errors.get, 0.5, "n_support") == (2, ((4, 0.1), (3, 0.3), (2, 0.46)))
    with pytest.warns(PrismapWarning, match="n_support='baseline': no value .*0.30 with 3, chance 0.50"):
        assert as_expected([4, 3], errors.get, 0.5, "n_support")[0] == 3


def test_support_shrinks_until_the_baseline_is_that_of_chance(noise):
    metric = metric_of(noise, posterior=Parzen("baseline"), cross_fit=False)
    sizes, errors = zip(*metric.support_curve_, strict=True)
    assert sizes[0] == 60
    assert len(metric.support_) == sizes[-1] < 60
    limit = EXPECTED_SHARE * chance_reference(noise[1])
    assert errors[-1] >= limit > max(errors[:-1])
    plain = metric_of(noise, posterior=Parzen(sizes[-1]), cross_fit=False)
    assert plain.bandwidth_ == pytest.approx(metric.bandwidth_, rel=0.2)


def test_cross_fitting_needs_no_smaller_support(noise):
    metric = metric_of(noise, posterior=Parzen("baseline"))
    assert len(metric.support_) == 60
    assert len(metric.support_curve_) == 1


def test_the_ridge_of_the_kernel_discriminant_grows_until_then(noise):
    X, y = noise
    published = KernelDiscriminant(alpha="baseline", cross_fit=False, kernel="linear", random_state=0).fit(X, y)
    ridges, errors = zip(*published.alpha_curve_, strict=True)
    assert ridges[0] == 1e-3
    assert published.alpha_ == ridges[-1]
    assert all(error < EXPECTED_SHARE * chance_reference(y) for error in errors[:-1])
    same = KernelDiscriminant(alpha=published.alpha_, cross_fit=False, kernel="linear", random_state=0).fit(X, y)
    np.testing.assert_allclose(same.embedding_, published.embedding_, atol=1e-12)
    honest = KernelDiscriminant(alpha="baseline", random_state=0).fit(X, y)
    assert honest.alpha_ == 1e-3
