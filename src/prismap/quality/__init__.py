"""How good a map is, and what chance would have given."""

from prismap.quality.alignment import alignment_measure, importance_alignment
from prismap.quality.cluster_report import Cluster, MapClusters, judge_clusters, one_gaussian
from prismap.quality.clusters import find_clusters
from prismap.quality.continuity import perturbation_scores, singularity_scores
from prismap.quality.errors import chance_nrmse
from prismap.quality.estimates import Estimate, RankCurve
from prismap.quality.fidelity import Fidelity, correlation, fidelity, label_agreement
from prismap.quality.groups import (
    Arrangement,
    arrangement,
    class_distances,
    class_separations,
    label_continuity,
    label_trustworthiness,
)
from prismap.quality.knn import (
    Overlap,
    chance_error,
    chance_steps,
    class_overlap,
    knn_error,
    knn_nrmse,
    knn_rank_correlation,
    knn_rank_error,
    knn_steps,
    overlapping_pairs,
)
from prismap.quality.measures import map_measures, rare_classes
from prismap.quality.null import NullResult, permuted_null
from prismap.quality.ranks import auc_log_k, local_quality, q_local, q_nx, r_nx, trustworthiness
from prismap.quality.report import Circularity, MapReport, current_versions
from prismap.quality.scores import TargetScore
from prismap.quality.trust import Trust, TrustRule

__all__ = [
    "Arrangement",
    "Circularity",
    "Cluster",
    "Estimate",
    "Fidelity",
    "MapClusters",
    "MapReport",
    "NullResult",
    "Overlap",
    "RankCurve",
    "TargetScore",
    "Trust",
    "TrustRule",
    "alignment_measure",
    "arrangement",
    "auc_log_k",
    "chance_error",
    "chance_nrmse",
    "chance_steps",
    "class_distances",
    "class_overlap",
    "class_separations",
    "correlation",
    "current_versions",
    "fidelity",
    "find_clusters",
    "importance_alignment",
    "judge_clusters",
    "knn_error",
    "knn_nrmse",
    "knn_rank_correlation",
    "knn_rank_error",
    "knn_steps",
    "label_agreement",
    "label_continuity",
    "label_trustworthiness",
    "local_quality",
    "map_measures",
    "one_gaussian",
    "overlapping_pairs",
    "permuted_null",
    "perturbation_scores",
    "q_local",
    "q_nx",
    "r_nx",
    "rare_classes",
    "singularity_scores",
    "trustworthiness",
]  # fmt: skip
