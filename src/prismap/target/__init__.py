"""What is known of y, decided once at the border: its kind, classes, labelled samples and units, as a `Target`."""

from prismap.target._copies import Copies as Copies
from prismap.target._copies import equal_rows as equal_rows
from prismap.target._copies import exact_copies as exact_copies
from prismap.target._copies import join_units as join_units
from prismap.target._copies import near_copies as near_copies
from prismap.target._copies import number_units as number_units
from prismap.target._decision import TargetDecision as TargetDecision
from prismap.target._decision import decide_target as decide_target
from prismap.target._dependence import COPIES as COPIES
from prismap.target._dependence import Dependence as Dependence
from prismap.target._dependence import decide_units as decide_units
from prismap.target._folds import deal_folds as deal_folds
from prismap.target._folds import draw_rows as draw_rows
from prismap.target._folds import exchange_units as exchange_units
from prismap.target._folds import plain_folds as plain_folds
from prismap.target._folds import sample_rows as sample_rows
from prismap.target._folds import shares as shares
from prismap.target._folds import shuffle_entries as shuffle_entries
from prismap.target._folds import shuffle_inside as shuffle_inside
from prismap.target._folds import split_rows as split_rows
from prismap.target._kinds import ClassTarget as ClassTarget
from prismap.target._kinds import NoTarget as NoTarget
from prismap.target._kinds import RealTarget as RealTarget
from prismap.target._kinds import SeveralTarget as SeveralTarget
from prismap.target._kinds import Target
from prismap.target._labels import known_order as known_order
from prismap.target._levels import Levels as Levels
from prismap.target._levels import read_levels as read_levels
from prismap.target._making import encode_like as encode_like
from prismap.target._making import make_target
from prismap.target._order import order_dependence as order_dependence
from prismap.target._order import time_blocks as time_blocks
from prismap.target._suspicions import Suspicion as Suspicion
from prismap.target._suspicions import suspicious_columns as suspicious_columns
from prismap.target._units import Units as Units
from prismap.target._units import plural as plural
from prismap.target._units import read_groups as read_groups

# Names that are imported "as" themselves are for other rooms, which share them; users need those of this list.
__all__ = ["Target", "make_target"]
