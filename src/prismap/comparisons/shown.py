"""Objects as a line of text: what a page shows of one, and a message of a report."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

#: Letters of an object that are shown.
MOST_LETTERS = 200
#: Heights of a series drawn with letters, and moments of it at most.
BARS, MOST_BARS = "▁▂▃▄▅▆▇█", 60


def shown_text(thing: Any) -> str:
    """Text as it is, series and histograms as small pictures of bars, graphs by their nodes and edges, trees as terms.

    Examples
    --------
    >>> shown_text([0.0, 1.0, 2.0, 1.0])
    '▁▅█▅ (4 values, 0 to 2)'
    >>> shown_text({"nodes": ["C", "C", "O"], "edges": [[0, 1], [1, 2]]})
    '3 nodes (2 C, 1 O), 2 edges: C-C, C-O'
    >>> shown_text(["f", ["d", "a", "b"], "e"])
    'f(d(a, b), e)'
    >>> shown_text({"milk", "bread"})
    'bread, milk'
    """
    text = " ".join(_text(thing).split())
    return text if len(text) <= MOST_LETTERS else text[: MOST_LETTERS - 1] + "…"


def _text(thing):
    if isinstance(thing, str):
        return thing
    if isinstance(thing, (set, frozenset)):
        return ", ".join(sorted(map(str, thing)))
    if isinstance(thing, dict) and "nodes" in thing and "edges" in thing:
        return _graph(thing["nodes"], thing["edges"])
    numbers = _numbers(thing)
    if numbers is not None:
        return _bars(numbers)
    if isinstance(thing, (list, tuple)) and thing and isinstance(thing[0], str):
        nested = any(isinstance(part, (list, tuple)) for part in thing)
        return _tree(thing) if nested else " ".join(map(str, thing))
    return repr(thing)


def _numbers(thing):
    """A series as an array (time, channels), or None."""
    if not isinstance(thing, (list, tuple, np.ndarray)) or not len(thing):
        return None
    try:
        array = np.asarray(thing, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return array.reshape(len(array), -1) if array.ndim in (1, 2) and np.isfinite(array).all() else None


def _bars(series):
    """A channel as a row of bars, long ones by the means of equal parts."""
    pictures = []
    for channel in series.T:
        parts = [part.mean() for part in np.array_split(channel, min(len(channel), MOST_BARS))]
        low, high = channel.min(), channel.max()
        width = high - low or 1.0
        pictures.append("".join(BARS[min(7, int(8 * (part - low) / width))] for part in parts))
    what = f"{len(series)} values" if series.shape[1] == 1 else f"{len(series)} moments"
    return f"{' | '.join(pictures[:3])} ({what}, {series.min():.3g} to {series.max():.3g})"


def _graph(nodes, edges):
    """Numbers of nodes by label, and the edges as pairs of labels."""
    labels = [""] * int(nodes) if isinstance(nodes, (int, np.integer)) else [str(label) for label in nodes]
    counts = ", ".join(f"{count} {label}".strip() for label, count in Counter(labels).most_common(6))
    named = any(labels)
    ends = (f"{labels[i]}-{labels[j]}" if named else f"{i}-{j}" for i, j in edges)
    kinds = f" ({counts})" if named else ""
    return f"{len(labels)} nodes{kinds}, {len(edges)} edges: {', '.join(ends)}"


def _tree(node):
    """A label with its children in brackets."""
    if not isinstance(node, (list, tuple)):
        return str(node)
    label, *children = node
    return f"{label}({', '.join(map(_tree, children))})" if children else str(label)
