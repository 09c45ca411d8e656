"""A small network as a function of its weights: values, gradients by the chain rule, and training by shadow targets."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from prismap._grid import sum_products
from prismap._optimise import minimize


def first_weights(sizes, rng):
    """Weights and biases of layers of the given sizes, uniform as Glorot & Bengio (2010) have them; the last small."""
    layers = []
    for number, (inputs, outputs) in enumerate(pairwise(sizes)):
        limit = np.sqrt(6 / (inputs + outputs)) * (0.1 if number == len(sizes) - 2 else 1.0)
        layers.append((rng.uniform(-limit, limit, size=(inputs, outputs)), np.zeros(outputs)))
    return layers


def forward(layers, X):
    """The outputs of all layers: tanh in the hidden ones, linear at the end."""
    values = [X]
    for W, b in layers[:-1]:
        values.append(np.tanh(values[-1] @ W + b))
    W, b = layers[-1]
    return [*values, values[-1] @ W + b]


def place_by_network(layers, X):
    """The positions of rows, each computed by itself, whatever its company."""
    for W, b in layers[:-1]:
        X = np.tanh(sum_products(X, W) + b)
    return sum_products(X, layers[-1][0]) + layers[-1][1]


def backward(layers, values, by_outputs):
    """Gradients by the weights and biases of each layer, from that by the outputs."""
    gradients = []
    for number in range(len(layers) - 1, -1, -1):
        gradients.append((values[number].T @ by_outputs, by_outputs.sum(axis=0)))
        if number:
            by_outputs = (by_outputs @ layers[number][0].T) * (1 - values[number] ** 2)
    return gradients[::-1]


def flatten(layers):
    """All weights as one vector."""
    return np.concatenate([part.ravel() for layer in layers for part in layer])


def unflatten(flat, layers):
    """The vector as weights of the same shapes as those of `layers`."""
    found, done = [], 0
    for W, b in layers:
        parts = []
        for part in (W, b):
            parts.append(flat[done : done + part.size].reshape(part.shape))
            done += part.size
        found.append(tuple(parts))
    return found


def train(layers, X, cost_of, max_iter, penalty=0.0):
    """Weights that lower ``cost_of(outputs) -> (cost, gradient)`` plus penalty times their squares.

    Returns the layers, their cost and the number of iterations.
    """

    def objective(flat):
        own = unflatten(flat, layers)
        values = forward(own, X)
        cost, by_outputs = cost_of(values[-1])
        return cost + penalty * float(flat @ flat), flatten(backward(own, values, by_outputs)) + 2 * penalty * flat

    found = minimize(
        objective, flatten(layers), max_iter=max_iter, n_evaluations=2 * max_iter, tol=1e-9, gradient_tol=1e-8
    )
    trained = unflatten(found.x, layers)
    return trained, cost_of(forward(trained, X)[-1])[0], found.n_iter


def shadow_targets(features, positions, cost_of, max_iter, *, growth=1.2, shrink=0.5):
    """Linear weights A of ``Y = F A`` by shadow targets (Tipping & Lowe 1997): (A, cost, number of iterations).

    The positions that the cost asks for, ``T = Y - eta dE/dY``, are targets that the layer is fitted to by the
    pseudo-inverse, ``A = F^+ T``. A step that lowers the cost is taken and eta grows; otherwise eta shrinks.
    `positions` are the first targets. No line search, and the pseudo-inverse is computed once.
    """
    inverse = np.linalg.pinv(features, rcond=1e-8)
    A = inverse @ positions
    Y = features @ A
    cost, gradient = cost_of(Y)
    eta = 0.1 * np.linalg.norm(Y) / max(float(np.linalg.norm(gradient)), np.finfo(np.float64).tiny)
    for step in range(1, max_iter + 1):
        trial = inverse @ (Y - eta * gradient)
        moved = features @ trial
        new_cost, new_gradient = cost_of(moved)
        if np.isfinite(new_cost) and new_cost < cost:
            A, Y, gradient, eta = trial, moved, new_gradient, eta * growth
            converged = cost - new_cost <= 1e-9 * abs(cost)
            cost = new_cost
            if converged:
                return A, float(cost), step
        else:
            eta *= shrink
    return A, float(cost), max_iter
