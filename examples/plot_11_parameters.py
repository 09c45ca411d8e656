"""
What the parameters do to the picture
=====================================

Four hundred digits. Above, ``supervision`` grows from the data's own distance to the pure Fisher metric. Below,
``perplexity`` grows from five neighbours to a hundred.

**What to look for:** above, groups close up as soon as the target counts, and change places, which is a reason not to
read meaning into who is beside whom. Below, ragged strings become round groups as more neighbours count. Do not
interpret what shows at one setting only.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from prismap import PrisMap
from prismap.inspection import MapDisplay

X, y = load_digits(return_X_y=True)
X, y = X[:400], y[:400]
X = X[:, np.ptp(X, axis=0) > 0]  # pixels that are never inked say nothing

settings = [{"supervision": w} for w in (0.0, 0.5, 0.8, 1.0)] + [{"perplexity": p} for p in (5, 15, 30, 100)]
figure, axes = plt.subplots(2, 4, figsize=(14, 7.2), layout="constrained")
for ax, options in zip(axes.flat, settings, strict=True):
    m = PrisMap(random_state=0, **options).fit(X, y)
    ((name, value),) = options.items()
    MapDisplay(m.embedding_, y, np.unique(y), title=f"{name}={value}").plot(ax, legend=False)
plt.show()

# %%
# Every parameter in words: :doc:`/parameters`.
