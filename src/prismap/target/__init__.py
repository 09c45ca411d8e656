"""What is known of y, decided once at the border: its kind, classes, labelled samples and units, as a `Target`."""

from prismap.target._decision import TargetDecision as TargetDecision
from prismap.target._decision import decide_target as decide_target
from prismap.target._folds import deal_folds as deal_folds
from prismap.target._folds import draw_rows as draw_rows
from prismap.target._folds import plain_folds as plain_folds
from prismap.target._folds import sample_rows as sample_rows
from prismap.target._folds import shares as shares
from prismap.target._folds import shuffle_entries as shuffle_entries
from prismap.target._folds import split_rows as split_rows
from prismap.target._kinds import ClassTarget as ClassTarget
from prismap.target._kinds import NoTarget as NoTarget
from prismap.target._kinds import RealTarget as RealTarget
from prismap.target._kinds import SeveralTarget as SeveralTarget
from prismap.target._kinds import Target
from prismap.target._making import encode_like as encode_like
from prismap.target._making import make_target

# Names that are imported "as" themselves are for other rooms, which share them; users need those of this list.
__all__ = ["Target", "make_target"]
