"""What prismap uses of scikit-learn's private names: the checks of constructor parameters, and helpers for rows.

No other file imports them, so a change in scikit-learn is met here.
"""

from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import HasMethods, Interval, InvalidParameterError, StrOptions
from sklearn.utils.validation import _check_feature_names_in as check_feature_names_in
from sklearn.utils.validation import _num_samples as num_samples

__all__ = [
    "HasMethods", "Interval", "InvalidParameterError", "StrOptions", "check_feature_names_in", "num_samples",
    "safe_indexing",
]  # fmt: skip
