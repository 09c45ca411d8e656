"""
Which features matter
=====================

Two questions that are easily confused. Which features does *this map* show? And which features does a *linear model*
need, given that others may take their place?

**What to look for:** left, bars above the dashed line (what permuted features reach). Right, white bars: features
that cannot be replaced; black ones can be used, but others would do.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from prismap import PrisMap
from prismap.inspection import RelevanceDisplay
from prismap.relevance import FeatureRelevance, RelevanceBounds

data = load_breast_cancer()
X, y = StandardScaler().fit_transform(data.data), data.target_names[data.target]

m = PrisMap(random_state=0).fit(X, y)
shown = FeatureRelevance(n_neighbors=40, random_state=0).fit(X, m.embedding_)

model = LogisticRegression(C=0.1).fit(X, y)
needed = RelevanceBounds(effective_dim=8).fit(X, model)

figure, axes = plt.subplots(1, 2, figsize=(13, 5.5), layout="constrained")
RelevanceDisplay.from_estimator(shown, names=data.feature_names).plot(axes[0], top=15)
RelevanceDisplay.from_estimator(needed, names=data.feature_names).plot(axes[1], top=15)

# %%
# On the map
# ----------
# The same map, coloured by the features it shows most.

RelevanceDisplay.from_estimator(shown, names=data.feature_names).plot_map(X, m.embedding_, top=6)
plt.show()

# %%
# In words
# --------

print("shown by the map:", ", ".join(data.feature_names[np.argsort(-shown.relevance_)[:5]]))
for level, meaning in [(2, "needed"), (1, "replaceable"), (0, "not needed")]:
    print(f"{meaning}:", int((needed.relevance_classes_ == level).sum()), "of", X.shape[1])
