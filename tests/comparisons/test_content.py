"""Objects as a line of text."""

import numpy as np
import pytest

from prismap.comparisons._content import MOST_LETTERS, shown_text


@pytest.mark.parametrize(
    ("thing", "text"),
    [
        ("two\nlines", "two lines"),
        (np.array([0.0, 7.0, 3.5]), "▁█▅ (3 values, 0 to 7)"),
        ([[0, 1], [1, 0]], "▁█ | █▁ (2 moments, 0 to 1)"),
        ([5, 5], "▁▁ (2 values, 5 to 5)"),
        ({"nodes": 3, "edges": [[0, 2]]}, "3 nodes, 1 edges: 0-2"),
        (["f", ["d", "a"], "e"], "f(d(a), e)"),
        (["red", "house"], "red house"),
        (frozenset({2, 1}), "1, 2"),
        (b"ab", "b'ab'"),
        ([], "[]"),
    ],
)
def test_each_kind_has_its_picture(thing, text):
    assert shown_text(thing) == text


def test_long_objects_are_cut():
    assert len(shown_text("ab" * 500)) == MOST_LETTERS
    assert shown_text("ab" * 500).endswith("…")
    series = shown_text(np.sin(np.arange(5000) / 300))
    assert len(series) < 100
    assert "5000 values, -1 to 1" in series
