"""Costs of the embeddings and the affinities they are made of, against slow twins, finite differences and limits."""

import numpy as np
import pytest
from sklearn.metrics import pairwise_distances

import reference.embedding_costs_reference as slow
from prismap._util import costs
from prismap._util.affinities import calibrate, joint_affinities, lower_perplexity
from prismap._util.costs import nerv_cost, sammon_weights, stress_cost, tsne_cost
from prismap.exceptions import InputError, PrismapWarning

GAMMAS = [0.0, 0.3, 1.0]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(16, 4)), rng.normal(size=(16, 2))
    D = pairwise_distances(X)
    D2 = D**2
    np.fill_diagonal(D2, np.inf)
    P, sigma = calibrate(D2, 5.0)
    return {"D": D, "D2": D2, "Y": Y, "P": P, "sigma": sigma, "joint": (P + P.T) / 32}


@pytest.fixture(params=[2**20, 300], ids=["one block", "many blocks"])
def blocks(request, monkeypatch):
    """16 rows of 8 bytes fit in one block, or two of them."""
    monkeypatch.setattr(costs, "CACHED_BYTES", 2 * request.param)


# Affinities


def test_affinities_equal_the_slow_twin(data):
    P, sigma = slow.row_affinities(data["D"], 5.0)
    np.testing.assert_allclose(data["P"], P, atol=1e-6)
    np.testing.assert_allclose(data["sigma"], sigma, rtol=1e-5)


@pytest.mark.parametrize("perplexity", [1.5, 4.0, 14.0])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_affinities_have_the_perplexity_at_any_scale(data, perplexity, scale):
    P, sigma = calibrate(scale * data["D2"], perplexity)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    found = [2 ** slow.entropy_bits(row) for row in P]
    np.testing.assert_allclose(found, perplexity, rtol=1e-5)
    np.testing.assert_allclose(sigma, np.sqrt(scale) * calibrate(data["D2"], perplexity)[1], rtol=1e-5)


def test_affinities_do_not_depend_on_blocks(data, monkeypatch):
    monkeypatch.setattr("prismap._util.affinities.CACHED_BYTES", 600)
    P, sigma = calibrate(data["D2"], 5.0)
    np.testing.assert_array_equal(P, data["P"])
    np.testing.assert_array_equal(sigma, data["sigma"])


@pytest.mark.parametrize("tiny", [0.0, 1e-20])
def test_more_duplicates_than_the_perplexity_share_evenly(tiny):
    P, sigma = calibrate(np.array([[tiny] * 6 + [1.0, 4.0]]), 3.0)
    np.testing.assert_allclose(P, [[1 / 6] * 6 + [0, 0]], atol=1e-12)
    assert sigma[0] > 0


def test_fewer_candidates_than_the_perplexity_share_evenly():
    P, sigma = calibrate(np.array([[1.0, 2.0, np.inf]]), 3.0)
    np.testing.assert_allclose(P, [[0.5, 0.5, 0]], atol=1e-6)
    assert np.isfinite(sigma[0])


def test_equal_distances_share_evenly():
    P, sigma = calibrate(np.array([[4.0, 4.0, 4.0], [0.0, 0.0, 0.0]]), 2.0)
    np.testing.assert_allclose(P, 1 / 3)
    assert (sigma > 0).all()


def test_a_row_without_any_distance_is_refused():
    with pytest.raises(InputError, match="finite distance"):
        calibrate(np.full((2, 3), np.inf), 2.0)


def test_joint_affinities_are_symmetric_and_sum_to_one(data):
    indices = np.array([[j for j in range(16) if j != i] for i in range(16)])
    P = joint_affinities(np.take_along_axis(data["D"], indices, axis=1), indices, 5.0)
    np.testing.assert_allclose(P.toarray(), data["joint"], atol=1e-12)
    assert P.sum() == pytest.approx(1)


def test_perplexity_is_lowered_with_a_warning():
    assert lower_perplexity(5, 16) == 5.0
    with pytest.warns(PrismapWarning, match=r"perplexity=30 is too high for 16 rows; 5 is used"):
        assert lower_perplexity(30, 16) == 5.0


# Costs


@pytest.mark.usefixtures("blocks")
def test_tsne_equals_the_slow_twin(data):
    assert tsne_cost(data["Y"], data["joint"])[0] == pytest.approx(slow.tsne_cost(data["Y"], data["joint"]), rel=1e-12)


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("gamma", GAMMAS)
def test_tnerv_equals_the_slow_twin(data, gamma):
    expected = slow.tnerv_cost(data["Y"], data["joint"], gamma)
    assert tsne_cost(data["Y"], data["joint"], gamma=gamma)[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("gamma", GAMMAS)
def test_nerv_equals_the_slow_twin(data, gamma):
    expected = slow.nerv_cost(data["Y"], data["P"], data["sigma"], gamma)
    assert nerv_cost(data["Y"], data["P"], data["sigma"], gamma=gamma)[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.usefixtures("blocks")
def test_stress_and_sammon_equal_the_slow_twins(data):
    Y, D = data["Y"], data["D"]
    assert stress_cost(Y, D)[0] == pytest.approx(slow.stress(Y, D), rel=1e-12)
    assert stress_cost(Y, D, sammon_weights(D))[0] == pytest.approx(slow.sammon_stress(Y, D), rel=1e-12)


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize(
    "cost",
    [
        lambda Y, d: tsne_cost(Y, d["joint"]),
        lambda Y, d: tsne_cost(Y, 12 * d["joint"]),
        *[lambda Y, d, g=g: tsne_cost(Y, d["joint"], gamma=g) for g in GAMMAS],
        *[lambda Y, d, g=g: nerv_cost(Y, d["P"], d["sigma"], gamma=g) for g in GAMMAS],
        lambda Y, d: stress_cost(Y, d["D"]),
        lambda Y, d: stress_cost(Y, d["D"], sammon_weights(d["D"])),
        lambda Y, d: stress_cost(Y, d["D"], 1 / (1 + d["D"]) ** 2),
    ],
    ids=[
        "tsne",
        "exaggerated",
        "tnerv0",
        "tnerv.3",
        "tnerv1",
        "nerv0",
        "nerv.3",
        "nerv1",
        "stress",
        "sammon",
        "weighted",
    ],
)
def test_gradients_by_finite_differences(data, cost):
    _, gradient = cost(data["Y"], data)
    expected = slow.numeric_gradient(lambda Y: cost(Y, data)[0], data["Y"])
    np.testing.assert_allclose(gradient, expected, atol=1e-6 * np.abs(expected).max())


def test_gradient_of_tsne_needs_no_cost(data):
    cost, gradient = tsne_cost(data["Y"], data["joint"], want_cost=False)
    assert np.isnan(cost)
    np.testing.assert_array_equal(gradient, tsne_cost(data["Y"], data["joint"])[1])


def test_costs_do_not_care_about_rotation_shift_and_order(data):
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(2, 2)))[0]
    order = np.random.default_rng(2).permutation(16)
    Y, moved = data["Y"], (data["Y"] @ turn + 3)[order]
    both = np.ix_(order, order)
    pairs = [
        (tsne_cost(Y, data["joint"], gamma=0.4), tsne_cost(moved, data["joint"][both], gamma=0.4)),
        (nerv_cost(Y, data["P"], data["sigma"]), nerv_cost(moved, data["P"][both], data["sigma"][order])),
        (stress_cost(Y, data["D"]), stress_cost(moved, data["D"][both])),
    ]
    for (cost, gradient), (cost_moved, gradient_moved) in pairs:
        assert cost_moved == pytest.approx(cost, rel=1e-12)
        np.testing.assert_allclose(gradient_moved, (gradient @ turn)[order], atol=1e-10)


@pytest.mark.parametrize("gamma", GAMMAS)
def test_perfect_positions_cost_nothing(gamma):
    """Planar rows, placed where they are: p = q for NeRV, and the stresses vanish."""
    Y = np.random.default_rng(0).normal(size=(20, 2))
    D = pairwise_distances(Y)
    D2 = D**2
    np.fill_diagonal(D2, np.inf)
    P, sigma = calibrate(D2, 6.0)
    for cost, gradient in [
        nerv_cost(Y, P, sigma, gamma=gamma),
        stress_cost(Y, D),
        stress_cost(Y, D, sammon_weights(D)),
    ]:
        assert cost == pytest.approx(0, abs=1e-9)
        assert np.abs(gradient).max() < 1e-9


def test_affinities_that_vanish_do_not_make_the_cost_infinite():
    Y = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    P = np.array([[0, 1.0, 0], [1.0, 0, 0], [0.5, 0.5, 0]])
    for cost, gradient in [nerv_cost(Y, P, np.ones(3)), tsne_cost(Y, (P + P.T) / 6, gamma=0.5)]:
        assert np.isfinite(cost)
        assert np.isfinite(gradient).all()


def test_coincident_positions_have_a_finite_gradient(data):
    Y = np.zeros((16, 2))
    for cost, gradient in [
        tsne_cost(Y, data["joint"], gamma=0.5),
        nerv_cost(Y, data["P"], data["sigma"]),
        stress_cost(Y, data["D"]),
    ]:
        assert np.isfinite(cost)
        np.testing.assert_allclose(gradient, 0, atol=1e-12)


def test_sammon_weights_of_zero_distances():
    D = np.array([[0.0, 0.0, 2.0], [0.0, 0.0, 2.0], [2.0, 2.0, 0.0]])
    np.testing.assert_allclose(sammon_weights(D), np.array([[0, 0, 1], [0, 0, 1], [1, 1, 0]]) / 8)
    np.testing.assert_allclose(sammon_weights(D, 0.5)[0, 1], 1 / (0.5 * 4))


# The minimiser
