"""Maps to look at: three separate groups, and names that try to be scripts."""

import numpy as np
import pytest

from prismap.page import Layer, PageData, Target
from prismap.page._data import Raster, Relevance
from prismap.quality._statements import Statement

# Every browser test on one worker; the last mark is for a fixture of a plugin, out of our reach.
BROWSER = [
    pytest.mark.browser,
    pytest.mark.xdist_group("browser"),
    pytest.mark.filterwarnings("ignore:Session-scoped fixtures defined as instance methods"),
]
CENTRES = np.array([[-10.0, 0.0], [10.0, 0.0], [0.0, 12.0]])
EVIL = "</script><img src=x onerror=\"document.title='run'\"><script>document.title='run'</script>"


def stated(name, answer, words, level="headline"):
    """A statement as a report has it."""
    return Statement(name, words, level, answer).to_dict()


def three_groups(n=90, **changes):
    """Groups of 30 rows around three far-apart centres; 'height' tells group c from the others."""
    rng = np.random.default_rng(0)
    codes = np.arange(n) % 3
    positions = CENTRES[codes] + rng.normal(size=(n, 2))
    k = np.array([1, 2, 4, 8, 16, 32, 64])
    fields = {
        "title": "Three groups",
        "layers": [
            Layer("fisher", "Fisher map", positions),
            Layer("unsupervised", "Unsupervised", positions[:, ::-1] + rng.normal(size=(n, 2)) * 3),
            Layer("permuted", "Permuted labels", rng.normal(size=(n, 2))),
        ],
        "target": Target("class", "group", ["a", "b", "c"], codes=codes),
        "columns": {
            "height": (codes == 2) * 5 + rng.normal(size=n),
            "noise": rng.normal(size=n),
            "city": np.array(["Ulm", "Bonn", "Kiel"])[(codes + (rng.random(n) < 0.1)) % 3],
        },
        "split": np.where(np.arange(n) < n * 2 // 3, "fitted", "mapped"),
        "far": np.arange(n) == 4,
        "quality": rng.random(n),
        "report": {
            "statements": [
                stated("target_shows", "yes", "The labels show clearly in this map: 2.0 ± 1.0 % of the rows."),
                stated("map_exaggerates", "no", "The map does not exaggerate."),
                stated("target_needed", "cannot tell", "Cannot tell whether the target was needed."),
                stated("overlapping_classes", "yes", "Classes that overlap most: a with b.", "detail"),
                stated("note", None, "One note.", "detail"),
            ],
            "target": "class",
            "target_shows": True,
            "overstates": False,
            "scores": [
                {
                    "name": "1-NN error",
                    "value": {"value": 0.02, "spread": 0.01},
                    "unsupervised": {"value": 0.05, "spread": 0.02},
                    "permuted": {"mean": 0.66, "spread": 0.03},
                    "chance": 0.667,
                }
            ],
            "overlaps": [{"of": "a", "into": "b", "share": 0.02}],
            "seed": 0,
        },
        "curves": [("Fisher map", k, np.linspace(0.6, 0.2, 7)), ("Unsupervised", k, np.linspace(0.7, 0.3, 7))],
        "relevance": Relevance(["height", "noise", "city"], [0.8, 0.1, 0.4], 0.1, 0.02, 0.12),
        "row_ids": [f"item-{i:03d}" for i in range(n)],
    }
    return PageData(**{**fields, **changes})


def with_model(n=90):
    """The groups before a model's decisions, two rows shown on the wrong side, and a picture of each row."""
    rgba = np.zeros((40, 40, 4), np.uint8)
    rgba[:, :20] = (0, 114, 178, 90)
    rgba[:, 20:] = (230, 159, 0, 90)
    wrong = np.arange(n) < 2
    raster = Raster(rgba, (-14.0, 14.0, -4.0, 16.0), "Decisions of a tree")
    predicted = np.where(wrong, (np.arange(n) + 1) % 3, np.arange(n) % 3)
    images = (np.random.default_rng(1).random((n, 6, 6)) * 255).astype(np.uint8)
    target = Target("class", "group", ["a", "b", "c"], codes=np.arange(n) % 3, predicted=predicted)
    return three_groups(n, raster=raster, misshown=wrong, images=images, target=target)
