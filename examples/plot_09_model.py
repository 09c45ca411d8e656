"""
What a model sees
=================

A support vector machine and a random forest, both good at telling three wines apart by thirteen measurements. Do they
do it in the same way? A model view asks each of them at every place of a map and colours the place by the answer;
pale where the model is unsure.

**What to look for:** where the borders run, how wide the unsure zone beside them is, and what the model says in
places where there are no data.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from prismap import PrisMap
from prismap.inspection import ModelView

X, y = load_wine(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(StandardScaler().fit_transform(X), y, random_state=0)
machine = SVC().fit(X_train, y_train)
forest = RandomForestClassifier(random_state=0).fit(X_train, y_train)
print(f"right on new wines: {machine.score(X_test, y_test):.2f} (SVC), {forest.score(X_test, y_test):.2f} (forest)")

# One map for both, so that the pictures can be compared.
common = PrisMap(random_state=0).fit(X_train, y_train)

view = ModelView.from_estimator(machine, X_train, y_train, map=common, grid_resolution=100)
view.plot()

# %%
# The same map, the other model:

ModelView.from_estimator(forest, X_train, y_train, map=common, grid_resolution=100).plot()
plt.show()

# %%
# How faithful is the picture?
# ----------------------------
# A plane cannot show all of a model in thirteen dimensions. ``fidelity_`` compares what the model says of a sample with
# what the picture shows at its place. It uses samples that were held out from the map and from its inverse.

print(view.fidelity_)
