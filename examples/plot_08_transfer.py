"""
Two tables without a common column
==================================

Half of the iris flowers were measured in centimetres. The other half, other flowers, were described by four numbers
nobody documented: here, an unknown linear mixture. No row occurs in both tables and no column has the same meaning.

**What to look for:** the two clouds on top of each other (left). A classifier that knows only labels of the source
then works on the target.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris
from sklearn.svm import SVC

from prismap.inspection import TransferDisplay
from prismap.transfer import SharedEmbedding

X, y = load_iris(return_X_y=True)
order = np.random.default_rng(3).permutation(len(X))
source, target = order[:75], order[75:]
mixture = np.random.default_rng(1).normal(size=(4, 4))
Z = X[target] @ mixture + 10

shared = SharedEmbedding("linear", random_state=0).fit(X[source], Z)
TransferDisplay.from_estimator(shared, y[source], y[target]).plot()
plt.show()

# %%
# Labels of the source only:

classifier = SVC(kernel="linear").fit(shared.source_positions_, y[source])
print(f"agreement of the clouds  {shared.agreement_:.2f}")
print(f"accuracy on the source   {classifier.score(shared.source_positions_, y[source]):.2f}")
print(f"accuracy on the target   {classifier.score(shared.transform_target(Z), y[target]):.2f}")
print("another match as good?  ", shared.ambiguous_)

# %%
# Without a common row a match can be wrong and look right. ``ambiguous_`` and ``agreement_`` say when to doubt it,
# and a few known pairs (``fit(X, Z, pairs=...)``) settle it: :doc:`/methods/transfer`.
