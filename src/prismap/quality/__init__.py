"""How good a map is, and what chance would have given."""

from prismap.quality.estimates import Estimate, RankCurve
from prismap.quality.fidelity import Fidelity, correlation, fidelity, label_agreement
from prismap.quality.null import NullResult, chance_error, chance_nrmse, permuted_null
from prismap.quality.ranks import auc_log_k, local_quality, q_local, q_nx, r_nx
from prismap.quality.report import MapReport, TargetScore, current_versions
from prismap.quality.supervised import Overlap, class_overlap, knn_error, knn_nrmse, overlapping_pairs

__all__ = [
    "Estimate",
    "Fidelity",
    "MapReport",
    "NullResult",
    "Overlap",
    "RankCurve",
    "TargetScore",
    "auc_log_k",
    "chance_error",
    "chance_nrmse",
    "class_overlap",
    "correlation",
    "current_versions",
    "fidelity",
    "knn_error",
    "knn_nrmse",
    "label_agreement",
    "local_quality",
    "overlapping_pairs",
    "permuted_null",
    "q_local",
    "q_nx",
    "r_nx",
]  # fmt: skip
