"""How good a map is, and what chance would have given."""

from prismap.quality._alignment import alignment_measure as alignment_measure
from prismap.quality._alignment import importance_alignment
from prismap.quality._cluster_report import MapClusters as MapClusters
from prismap.quality._cluster_report import judge_clusters
from prismap.quality._cluster_report import one_gaussian as one_gaussian
from prismap.quality._clusters import find_clusters
from prismap.quality._continuity import perturbation_scores, singularity_scores
from prismap.quality._errors import chance_nrmse
from prismap.quality._estimates import Estimate as Estimate
from prismap.quality._estimates import RankCurve as RankCurve
from prismap.quality._fidelity import Fidelity, fidelity
from prismap.quality._groups import arrangement, class_distances, label_continuity, label_trustworthiness
from prismap.quality._knn import Overlap as Overlap
from prismap.quality._knn import (
    chance_error,
    class_overlap,
    knn_error,
    knn_nrmse,
    knn_rank_correlation,
    knn_rank_error,
    knn_steps,
    overlapping_pairs,
)
from prismap.quality._knn import chance_steps as chance_steps
from prismap.quality._measures import map_measures as map_measures
from prismap.quality._measures import rare_classes as rare_classes
from prismap.quality._null import NullResult as NullResult
from prismap.quality._null import permuted_null
from prismap.quality._ranks import auc_log_k, local_quality, q_local, q_nx, r_nx, trustworthiness
from prismap.quality._report import Circularity as Circularity
from prismap.quality._report import MapReport
from prismap.quality._report import current_versions as current_versions
from prismap.quality._scores import TargetScore as TargetScore
from prismap.quality._statements import Statement
from prismap.quality._trust import Trust as Trust
from prismap.quality._trust import TrustRule

# Names that are imported "as" themselves are for other rooms, which share them; users need those of this list.
__all__ = [
    "Fidelity", "MapReport", "Statement", "TrustRule", "arrangement", "auc_log_k", "chance_error", "chance_nrmse",
    "class_distances", "class_overlap", "fidelity", "find_clusters", "importance_alignment", "judge_clusters",
    "knn_error", "knn_nrmse", "knn_rank_correlation", "knn_rank_error", "knn_steps", "label_continuity",
    "label_trustworthiness", "local_quality", "overlapping_pairs", "permuted_null", "perturbation_scores", "q_local",
    "q_nx", "r_nx", "singularity_scores", "trustworthiness",
]  # fmt: skip
