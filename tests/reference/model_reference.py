"""A model's own Fisher metric from its probabilities alone: central differences and explicit tensors."""

import numpy as np


def log_gradient_reference(model, x, step=1e-5):
    """``grad log p(c|x)`` (C, D) by central differences."""
    out = []
    for d in range(len(x)):
        shift = np.zeros(len(x))
        shift[d] = step
        up, down = model.predict_proba([x + shift])[0], model.predict_proba([x - shift])[0]
        out.append((np.log(up) - np.log(down)) / (2 * step))
    return np.array(out).T


def tensor_reference(model, x):
    """``J(x) = sum_c p_c s_c s_c^T`` (thesis eq. 2.14)."""
    p, S = model.predict_proba([x])[0], log_gradient_reference(model, x)
    return sum(p[c] * np.outer(S[c], S[c]) for c in range(len(p)))


def tangent_reference(model, x, z, T, *, symmetric, w=1.0, sigma=1.0):
    """Sum of ``sqrt(dx^T (w J + (1-w) I / sigma^2) dx)`` over T sub-segments, at left nodes or mirrored ones."""
    step, total = (z - x) / T, 0.0
    for t in range(T):
        node = t
        if symmetric:
            node = t + 0.5 if 2 * t + 1 == T else (t + 1 if 2 * t + 1 > T else t)
        J = w * tensor_reference(model, x + node * step) + (1 - w) * np.eye(len(x)) / sigma**2
        total += np.sqrt(step @ J @ step)
    return total
