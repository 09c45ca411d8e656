"""What is known of y, decided once at the border: its kind, classes, labelled samples and units, as a `Target`."""

from prismap.target._decision import TargetDecision, decide_target
from prismap.target._folds import deal_folds, draw_rows, plain_folds, sample_rows, shares, shuffle_entries, split_rows
from prismap.target._kinds import ClassTarget, NoTarget, RealTarget, SeveralTarget, Target
from prismap.target._making import encode_like, make_target

__all__ = [
    "ClassTarget", "NoTarget", "RealTarget", "SeveralTarget", "Target", "TargetDecision", "deal_folds",
    "decide_target", "draw_rows", "encode_like", "make_target", "plain_folds", "sample_rows", "shares",
    "shuffle_entries", "split_rows",
]  # fmt: skip
