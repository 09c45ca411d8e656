"""How a map is to be made, and of what: the parameters of a `PrisMap` and what its `fit` was given, as two values."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from prismap._util.arrays import Rows
from prismap._util.repr import Brief
from prismap._util.validation import changed
from prismap.metrics import FisherMetric
from prismap.metrics.posteriors._models import bind_model
from prismap.tables import TableEncoding
from prismap.target import Dependence, Levels, Target


@dataclass(frozen=True)
class Recipe:
    """The parameters of a `PrisMap` that its map depends on; see there.

    `target` is the parameter of the user. What y was taken for is the `Target` of the map.
    """

    method: Any = "tsne"
    metric: Any = "fisher"
    mapping: Any = "auto"
    supervision: Any = "auto"
    target: Any = "auto"
    data: Any = "vectors"
    fit_rows: int | str = 5000
    perplexity: float = 30
    copies: str = "auto"
    seed: int = 0

    def but(self, **changes: Any) -> Recipe:
        """The same with some parameters changed."""
        return replace(self, **changes)

    @property
    def params(self) -> dict[str, Any]:
        """The parameters by the names that `PrisMap` has for them."""
        own = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "seed"}
        return {**own, "random_state": self.seed}

    def metric_for(self, target: Target, feature_names: Any = None, supervision: Any = None) -> Any:
        """The metric that the map is made by, unfitted; None is the data's own.

        Parameters of both the map and its Fisher metric (target, data, supervision, perplexity, seed) are the map's. A
        model as posterior is bound to the columns, which the metric only knows by number.
        """
        fisher = FisherMetric() if isinstance(self.metric, str) and self.metric == "fisher" else self.metric
        if not isinstance(fisher, FisherMetric):
            return fisher
        supervision = self.supervision if supervision is None else supervision
        if not target.exists or supervision == 0:
            return None
        return changed(
            fisher, target=target.kind, data=self.data, posterior=bind_model(fisher.posterior, feature_names),
            supervision=supervision, perplexity=self.perplexity, random_state=self.seed,
        )  # fmt: skip


@dataclass(frozen=True, repr=False)
class Given(Brief):
    """What a map was made of.

    Attributes
    ----------
    rows : all samples given to `fit`, after validation: vectors, objects, or the square matrix between them.
    target : of all of them.
    fitted : numbers of those that were embedded.
    entry_columns : of matrix data, the columns of new samples that are the fitted ones.
    feature_names : of the columns; None if they had none.
    n_features : number of columns.
    row_names : ids, or the index of a pandas frame; None if the samples have no names.
    target_name : what the target was called; None if it had no name.
    y : the target as it was given, whatever use is made of it.
    encoding : how the columns of a table become features; None for a map of an array.
    dependence : which samples are not independent of each other.
    levels : of the column that is of no interest, whose codes the target has; None without one.
    earlier : where the samples lie on an earlier map that this one is to be like; None without one.
    """

    rows: Any
    target: Target
    fitted: Rows
    entry_columns: Rows
    feature_names: Any = None
    n_features: int = 0
    row_names: Any = None
    target_name: str | None = None
    y: Any = None
    encoding: TableEncoding | None = None
    dependence: Dependence = field(default_factory=Dependence)
    levels: Levels | None = None
    earlier: Any = None

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    @property
    def others(self) -> Rows:
        """Numbers of the samples that were not embedded."""
        return np.setdiff1d(np.arange(len(self)), self.fitted)

    @property
    def column_names(self) -> list[str]:
        """The names of the features, or numbers in their place."""
        names = [f"x{j}" for j in range(self.rows.shape[1])] if self.feature_names is None else self.feature_names
        return [str(name) for name in names]
