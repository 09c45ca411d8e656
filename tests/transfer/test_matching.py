"""EM without correspondences: against the published formulas, its law, and gradients by finite differences."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import check_grad

from prismap.transfer import _matching as matching
from prismap.transfer._matching import AffineFamily, KernelFamily, Model, expect, maximise, responsibility_blocks
from prismap.transfer._search import (
    agreement,
    couplings,
    distortion,
    exchanges,
    sample,
    sinkhorn,
    structure,
    take_rows,
    turns,
    way,
)
from reference.transfer_reference import (
    coupling_distortion,
    kernel_positions,
    log_likelihood,
    regularised_cost,
    responsibilities,
    weighted_least_squares,
)

EMISSION = np.array([[0.9, 0.1, 0.5], [0.1, 0.9, 0.5], [0.5, 0.5, 0.5]])


@pytest.fixture
def clouds():
    rng = np.random.default_rng(0)
    return rng.normal(size=(13, 2)), rng.normal(size=(9, 2)), rng.dirichlet(np.ones(9))


def affine(Z, n, ridge=0.01):
    return AffineFamily(Z, n, ridge=ridge)


def kernel(Z, n, strength=0.05):
    return KernelFamily(
        Z, n, landmarks=np.arange(0, len(Z), 2), perplexity=3.0, strength=strength, spread=1.3, zoom=2.0
    )


@pytest.mark.parametrize("block_bytes", [80, 2**21])
def test_expectation_is_the_published_one(clouds, block_bytes, monkeypatch):
    monkeypatch.setattr(matching, "CACHED_BYTES", block_bytes)
    source, target, theta = clouds
    sigma, volume = 0.4, 30.0
    model = Model(source, 0.1, np.log(volume), mutual=0.0)
    step = expect(model, target, theta, sigma)
    gamma = responsibilities(source, target, theta, sigma, 0.1, volume)
    np.testing.assert_allclose(step.mass, gamma.sum(axis=0))
    np.testing.assert_allclose(step.moment, gamma.T @ source)
    np.testing.assert_allclose(step.theta, gamma.sum(axis=0) / gamma.sum())
    np.testing.assert_allclose(step.source_log, log_likelihood(source, target, theta, sigma, 0.1, volume))
    uniform = np.full(len(source), 1 / len(source))
    np.testing.assert_allclose(step.target_log, log_likelihood(target, source, uniform, sigma, 0.1, volume))
    blocks = list(responsibility_blocks(model, target, theta, sigma))
    assert (len(blocks) > 1) == (block_bytes == 80)
    np.testing.assert_allclose(np.vstack([block for _, block in blocks]), gamma)


def test_mutual_adds_the_other_direction(clouds):
    source, target, theta = clouds
    model = Model(source, 0.1, np.log(30.0), mutual=0.5)
    step = expect(model, target, theta, 0.4)
    there = responsibilities(source, target, theta, 0.4, 0.1, 30.0)
    back = responsibilities(target, source, np.full(13, 1 / 13), 0.4, 0.1, 30.0)
    weight = 0.5 * 13 / 9  # both directions weigh the same at mutual=1, whatever the numbers of rows
    np.testing.assert_allclose(step.mass, there.sum(axis=0) + weight * back.sum(axis=1))
    np.testing.assert_allclose(step.moment, there.T @ source + weight * back @ source)


def test_known_classes_weigh_the_responsibilities(clouds):
    source, target, theta = clouds
    codes = np.arange(13) % 3, np.arange(9) % 3
    model = Model(source, 0.1, np.log(30.0), mutual=0.0, codes=codes, emission=EMISSION)
    gamma = responsibilities(source, target, theta, 0.4, 0.1, 30.0, EMISSION[np.ix_(*codes)])
    np.testing.assert_allclose(expect(model, target, theta, 0.4).mass, gamma.sum(axis=0))


def test_far_rows_get_no_partner_and_finite_likelihood(clouds):
    source, target, theta = clouds
    step = expect(Model(source, 0.1, np.log(30.0)), target + 1e4, theta, 1e-3)
    assert np.isfinite(step.source_log).all()
    np.testing.assert_allclose(step.mass, 0.0)


@pytest.mark.parametrize("make", [affine, kernel])
@pytest.mark.parametrize("mutual", [0.0, 1.0])
@pytest.mark.parametrize("known", [False, True])
def test_em_never_lowers_its_objective(make, mutual, known):
    rng = np.random.default_rng(1)
    source, Z = rng.normal(size=(40, 2)) * [3, 1], rng.normal(size=(30, 4))
    model = Model(source, 0.05, np.log(100.0), mutual)
    if known:
        model = Model(
            source, 0.05, np.log(100.0), mutual, pairs=np.array([[0, 1], [5, 7]]), pair_weight=4.0,
            codes=(np.arange(40) % 2, np.arange(30) % 3), emission=EMISSION,
        )  # fmt: skip
    family = make(Z, 40)
    W = rng.normal(size=(family.rows_design.shape[1], 2))
    for sigma in (1.5, 0.3):
        W, theta, history = maximise(model, family, W, np.full(30, 1 / 30), sigma, 15)
        assert len(history) == 16
        assert (np.diff(history) > -1e-9).all(), np.diff(history).min()
        assert history[-1] > history[0] + 1e-3
        assert theta.sum() == pytest.approx(1.0)


def test_linear_step_is_weighted_least_squares():
    rng = np.random.default_rng(2)
    source, Z, gamma = rng.normal(size=(8, 2)), rng.normal(size=(11, 3)) * [5, 1, 0.2] + 40, rng.random((8, 11))
    family = affine(Z, 8, ridge=0.1)
    W = family.solve(gamma.sum(axis=0), gamma.T @ source)
    coordinates = family.rows_design[:, :-1]
    np.testing.assert_allclose(W, weighted_least_squares(coordinates, source, gamma, 8 * 0.1), rtol=1e-8)
    assert coordinates.std(axis=0).max() == pytest.approx(1.0)
    np.testing.assert_allclose(family.design(Z) @ W, family.positions(W))


def test_kernel_positions_and_cost_are_the_published_ones():
    rng = np.random.default_rng(3)
    source, Z, gamma = rng.normal(size=(8, 2)), rng.normal(size=(12, 3)), rng.random((8, 12))
    family = kernel(Z, 8)
    W, V = rng.normal(size=(2, 6, 2))
    np.testing.assert_allclose(family.positions(W), kernel_positions(Z, Z[::2], family.bandwidth, W))
    mass, moment = gamma.sum(axis=0), gamma.T @ source
    ours = family.cost(W, mass, moment)[0] - family.cost(V, mass, moment)[0]
    theirs = [regularised_cost(source, family.positions(A), gamma, family.penalty(A)) for A in (W, V)]
    assert ours == pytest.approx(theirs[0] - theirs[1])


def test_gradient_of_the_kernel_step():
    rng = np.random.default_rng(4)
    family = kernel(rng.normal(size=(12, 3)), 8, strength=2.0)
    mass, moment, W = rng.random(12), rng.normal(size=(12, 2)), rng.normal(size=(6, 2))
    error = check_grad(
        lambda w: family.cost(w.reshape(6, 2), mass, moment)[0],
        lambda w: family.cost(w.reshape(6, 2), mass, moment)[1].ravel(),
        W.ravel(),
    )
    assert error < 1e-5 * np.abs(family.cost(W, mass, moment)[1]).max()


def test_part_of_a_family_and_of_a_model():
    rng = np.random.default_rng(5)
    Z, rows = rng.normal(size=(12, 3)), np.array([1, 4, 7])
    whole = affine(Z, 20)
    part, W = whole.take(rows, 5), rng.normal(size=(4, 2))
    np.testing.assert_array_equal(part.positions(W), whole.positions(W)[rows])
    assert part.penalty(W) == pytest.approx(whole.penalty(W) / 4)
    model = Model(rng.normal(size=(20, 2)), 0.1, 0.0, pairs=np.array([[4, 7], [0, 1], [4, 2]]), pair_weight=2.0)
    small = take_rows(model, np.array([2, 4]), rows)
    np.testing.assert_array_equal(small.pairs, [[1, 2]])
    assert {3, 9} <= set(sample(50, 6, rng, [9, 3]).tolist())
    assert len(sample(50, 6, rng, [9, 3])) == 6


def test_turns_are_orthogonal_and_different():
    matrices = turns(2, 11, np.random.default_rng(0))
    for R in matrices:
        np.testing.assert_allclose(R @ R.T, np.eye(2), atol=1e-12)
    assert len(np.unique(np.round(matrices, 6), axis=0)) == 11
    assert {float(R[0, 0]) for R in turns(1, 5, np.random.default_rng(0))} == {1.0, -1.0}


def test_coupling_has_uniform_margins_and_finds_a_permutation():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(25, 3)) * [4, 2, 1]
    order = rng.permutation(25)
    turned = 7 * X[order] @ turns(3, 60, rng)[-1] + 3
    cost = rng.random((5, 7))
    T = sinkhorn(cost, 0.2)
    np.testing.assert_allclose(T.sum(axis=0), 1 / 7)
    np.testing.assert_allclose(T.sum(axis=1), 1 / 5, rtol=1e-3)
    C, D = structure(X), structure(turned)
    assert distortion(C[:4, :4], D[:5, :5], T[:4, :5]) != distortion(C[:4, :4], D[:5, :5], T[:4, 2:])
    best = couplings(C, D, 4, rng)
    assert [value for value, _ in best] == sorted(value for value, _ in best)
    assert (best[0][1].argmax(axis=0) == order).mean() == 1.0


def test_an_exchange_of_two_clusters_is_found_beside_the_best_coupling():
    rng = np.random.default_rng(0)
    label = np.repeat([0, 1, 2], 20)
    X = np.array([[0.0, 0.0], [4.0, 0.0], [2.0, 6.0]])[label] + 0.4 * rng.normal(size=(60, 2))
    C = structure(X)
    best = couplings(C, C, 2, rng)
    member = np.eye(3)[label]
    partner = [tuple((member.T @ T @ member).argmax(axis=0)) for _, T in best]
    assert partner[0] == (0, 1, 2)
    assert (1, 0, 2) in partner
    assert [value for value, _ in best] == sorted(value for value, _ in best)
    assert min(way(C, S, T) for (_, S), (_, T) in combinations(best, 2)) > 0.1
    assert way(C, best[0][1], best[0][1]) == pytest.approx(0, abs=1e-12)
    for T in exchanges(C, C, best[0][1]):
        np.testing.assert_allclose(T.sum(axis=0), 1 / 60, rtol=1e-6)


def test_distortion_by_loops():
    rng = np.random.default_rng(7)
    C, D, T = structure(rng.normal(size=(4, 2))), structure(rng.normal(size=(5, 3))), sinkhorn(rng.random((4, 5)), 0.3)
    assert distortion(C, D, T) == pytest.approx(coupling_distortion(C, D, T))


def test_agreement_of_mixed_apart_and_unequal_clouds():
    rng = np.random.default_rng(8)
    A = rng.normal(size=(200, 2))
    assert agreement(A, rng.normal(size=(200, 2))) > 0.9
    assert agreement(A, rng.normal(size=(50, 2))) > 0.9
    assert agreement(A, rng.normal(size=(200, 2)) + 20) == 0.0
    assert 0.2 < agreement(A, rng.normal(size=(200, 2)) + 1.5) < 0.8
