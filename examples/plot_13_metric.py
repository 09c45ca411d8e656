"""
What the Fisher metric measures
===============================

A map under the Fisher metric keeps distances that count how much the target changes on the way, and nothing else. Two
columns are enough to see what that means: here are two classes, one of them in two groups, one of which lies partly
on the other class.

**What to look for:** every ellipse holds the places that are equally far from its centre. Across a border a small step
is a long way, so the ellipses are thin there. Inside a class nothing changes, and the circles are as large as the
picture lets them be. A step along a border costs nothing: it tells nothing new about the class.
"""

import matplotlib.pyplot as plt
import numpy as np

from prismap import PrisMap
from prismap.inspection import FisherDisplay
from prismap.metrics import FisherMetric

rng = np.random.default_rng(0)
X = np.vstack([rng.normal(center, width, (n, 2)) for center, width, n in (
    ((0.0, 0.0), (0.9, 0.6), 120), ((-2.4, 1.6), (0.6, 0.6), 90), ((1.3, 0.7), (0.6, 0.5), 70),
)])  # fmt: skip
y = np.repeat(["one", "two", "two"], [120, 90, 70])
metric = FisherMetric(posterior="parzen", random_state=0).fit(X, y)

left, right = (int(np.linalg.norm(X - place, axis=1).argmin()) for place in ([-2.8, 1.8], [2.0, 1.0]))
display = FisherDisplay.from_estimator(metric, y, paths=[(left, right)])
_, ax = plt.subplots(figsize=(9, 6), layout="constrained")
display.plot(ax)
plt.show()

# %%
# Two ways between two rows of one class. The straight one (green) crosses the other class, and the numbers along it say
# where it gets long: at the two borders. The shortest way over the rows of the data (pink) goes round. The maps take
# straight ways, which are much cheaper to measure; ``FisherMetric(path="graph")`` takes shortest ones.

path = display.paths[0]
print(f"straight {path.straight_length:.2f}, shortest {path.shortest_length:.2f}")

# %%
# As arrows
# ---------
# The tensor itself: its eigenvectors, as long as the posterior changes fast. With two classes there is one direction of
# change at every place.

_, ax = plt.subplots(figsize=(9, 6), layout="constrained")
display.plot(ax, arrows=True)
plt.show()

# %%
# Three dimensions
# ----------------
# A ball of rows with a bent tube of another class in it. No plane has room for a ball, and t-SNE breaks the tube
# apart. The Fisher metric keeps only what separates the two classes, and for that there is room. New rows (right) are
# projected to rows of their own class.

t = np.linspace(-0.9, 0.9, 200)
core = np.column_stack([t, 0.35 * np.sin(2.5 * t), 0.3 * np.cos(2.5 * t) - 0.2])
ball = rng.normal(size=(1200, 3))
ball *= (rng.uniform(size=len(ball)) ** (1 / 3) / np.linalg.norm(ball, axis=1))[:, None]
inside = np.linalg.norm(ball[:, None] - core, axis=2).min(axis=1) < 0.35
old, new = slice(0, 600), slice(600, None)

figure, axes = plt.subplots(2, 2, figsize=(9, 9), layout="constrained")
for line, (name, options) in zip(axes, {"Fisher t-SNE": {}, "t-SNE": {"target": "none"}}.items(), strict=True):
    plane = PrisMap(random_state=0, **options).fit(ball[old], inside[old])
    for ax, rows in zip(line, (old, new), strict=True):
        ax.scatter(*plane.transform(ball[rows]).T, c=np.where(inside[rows], "#e69f00", "#0072b2"), s=9, linewidths=0)
        ax.set(xticks=[], yticks=[], title=f"{name}, {'the rows of the map' if rows is old else 'new rows'}")
plt.show()
