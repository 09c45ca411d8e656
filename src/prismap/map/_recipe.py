"""How a map is to be made, in one value: what `PrisMap`'s parameters say, with a seed that is a number."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from prismap._util.validation import changed
from prismap.metrics import FisherMetric
from prismap.metrics.posteriors._models import bind_model
from prismap.target import Target


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
