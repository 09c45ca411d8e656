"""
A messy table
=============

Tables as people have them: keys, dates, gaps, a site that has nothing to do with anything, and a column that is the
answer in disguise. ``prismap map patients.csv --target state`` reads such a file; this page does the same in Python.

**What to look for:** what is said about each column. A good picture is not enough: here it is good for a bad reason.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from prismap import PrisMap

rng = np.random.default_rng(0)
n_rows = 240
kind = rng.integers(3, size=n_rows)
pressure = rng.normal(120, 10, n_rows) + 35 * (kind == 1)
iron = rng.lognormal(2, 0.15, n_rows) * np.where(kind == 2, 2.0, 1.0)
iron[rng.random(n_rows) < 0.05] = np.nan
table = pd.DataFrame(
    {
        "patient_id": 10**9 + rng.permutation(n_rows),
        "admitted": pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(700, size=n_rows), unit="D"),
        "pressure": pressure,
        "iron": iron,
        "smoker": rng.random(n_rows) < 0.3,
        "site": rng.choice(["north", "south", "west"], n_rows),
        "remark": [f"seen by doctor {number}" for number in range(n_rows)],
        "state": np.array(["well", "tense", "rich in iron"])[kind],
        "state_code": np.array([40.0, 10.0, 70.0])[kind],
    }
)

# %%
# Missing values are refused until we say what to do about them.

try:
    PrisMap.from_table(table, target="state")
except ValueError as error:
    print(error)

# %%
# With ``impute`` there is a map, and notes on what became of each column.

first = PrisMap.from_table(table, target="state", impute="median", random_state=0)
print(*first.notes_, sep="\n")

# %%
# The answers are excellent, and the warning above them says why: ``state_code`` gives the target away.

report = first.report(n_permutations=2)
print(report)

# %%
# Without that column, and with the date kept for showing only, the map shows what the measurements know. Some of its
# clusters follow columns that say nothing about the state. The report says so, and these columns can be left out, too.

second = PrisMap.from_table(table, target="state", drop="state_code", show="admitted", impute="median", random_state=0)
report = second.report(n_permutations=2)
print(report)
print(*[one.words for one in report.statements if one.id == "cluster_columns"], sep="\n")

figure, axes = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
for ax, model, title in zip(axes, (first, second), ("with state_code", "without it"), strict=True):
    model.plot(ax)
    ax.set_title(title)

# %%
# The map reads further tables as it read this one, and the positions carry the names of the rows.

print(second.transform(table[:3]))
print(second.positions(as_frame=True).head(3))
