"""What a verdict costs: the full and the quick report against the fit of the same map.

The goals are at most the time of the fit, and three tenths of it. The first report of a process also imports what it
needs, so a small map is judged beforehand.
"""

import copy

from sklearn.datasets import load_digits

from prismap import PrisMap

SIZES = (150, 569, 1797)
#: The least fit / report that is wanted.
GOALS = {"full": 1.0, "quick": 3.33}


def cases(data_folder=None):
    """What is compared: (name, ours, theirs), both of the same rows."""
    X, y = load_digits(return_X_y=True)
    PrisMap(random_state=0).fit(X[:100], y[:100]).report()
    for n_rows in SIZES:
        model = PrisMap(random_state=0).fit(X[:n_rows], y[:n_rows])
        for budget, goal in GOALS.items():
            yield {
                "name": f"{budget} report on {n_rows} digits, against the fit",
                "ours": lambda model=model, budget=budget: copy.copy(model).report(budget=budget),
                "theirs": lambda n=n_rows: PrisMap(random_state=0).fit(X[:n], y[:n]),
                "goal": goal,
                "repeat": 2,
                "peak": False,
            }
