"""The picture of the league: new rows predicted, against what maps of permuted labels show."""

from __future__ import annotations

import numpy as np

from experiments.league_pairs import DEFAULT, MODELS
from prismap.bundle import written_aside

#: Horizontal lines, for what needs no map.
LEVELS = {name: name for name in MODELS} | {"no map": "ten neighbours in the data"}
KINDS = {"prismap": "tab:red", "other maps with labels": "tab:blue", "maps without labels": "0.6"}


def draw(lines, path):
    """One mark per method that places new rows; nothing where none was measured."""
    shown = [line for line in lines if line.get("new, 10") is not None and line.get("invented") is not None]
    shown = sorted((line for line in shown if line["method"] not in LEVELS), key=lambda line: line["new, 10"])
    if not shown:
        return
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7.6, 5.6), layout="constrained")
    draw_levels(ax, lines, max(line["invented"] for line in shown))
    for kind, colour in KINDS.items():
        own = [line for line in shown if kind_of(line) == kind]
        ax.scatter([x["invented"] for x in own], [x["new, 10"] for x in own], s=45, color=colour, label=kind)
    draw_names(ax, shown)
    ax.set(
        xlabel="invented: permuted labels that fitted neighbours predict, points beyond chance",
        ylabel="new rows that ten neighbours on the map predict, %",
    )
    figure.legend(loc="outside upper center", ncols=3, frameon=False, fontsize=9)
    with written_aside(path) as aside:
        figure.savefig(aside, dpi=110, format="png")
    plt.close(figure)


def kind_of(line):
    """Prismap, another map with labels, or one without."""
    ours, others, without = KINDS
    return ours if line["method"].startswith(DEFAULT) else others if line["labels"] == "yes" else without


def draw_levels(ax, lines, right):
    """What needs no map, as lines whose names end at the right."""
    for line in lines:
        if line["method"] in LEVELS and line.get("new, 10") is not None:
            ax.axhline(line["new, 10"], color="0.85", linewidth=1, zorder=0)
            words = LEVELS[line["method"]]
            ax.text(right, line["new, 10"], words, fontsize=7, color="0.5", ha="right", va="bottom")


def draw_names(ax, shown):
    """Names beside the marks, lowest first, each above the former one in the left half and in the right one."""
    widest = max(line["invented"] for line in shown)
    spacing = (shown[-1]["new, 10"] - shown[0]["new, 10"]) / 26
    lowest = {}
    for line in shown:
        x, y = line["invented"], line["new, 10"]
        right = x > widest / 2
        height = lowest[right] = max(y, lowest.get(right, -np.inf) + spacing)
        beside = x - 0.03 * widest if right else max(x + 0.03 * widest, 0.1 * widest)
        ax.annotate(
            line["method"], (x, y), (beside, height), fontsize=8, va="center", ha="right" if right else "left",
            arrowprops={"arrowstyle": "-", "color": "0.8"},
        )  # fmt: skip
