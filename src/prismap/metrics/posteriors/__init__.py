"""What is known about a target: one posterior per file, all with the contract of `prismap.metrics.posteriors._base`.

======================  ==========================================================================================
`Parzen`                Gaussian kernels on the support, along the whole segment
`LocalParzen`           the same for many rows: each row's nearest labelled rows, and a small support between them
`LeastSquaresMachine`   a least-squares support vector machine on the profiles, at the rows
`Trees`                 a forest, at the rows (vectors only)
`Discriminant`          linear discriminants, at the rows (dense vectors only; in a mean only)
`Blend`                 a weighted mean of posteriors at the rows, by out-of-fold log-loss
`Best`                  the better of Parzen and a mean of machine and discriminants, by out-of-fold log-loss ("auto")
`ClassModel`            any classifier with ``predict_proba``, at the rows (vectors only)
`RealModel`             any regressor, at the rows (vectors only)
`SegmentModel`          any classifier or regressor, along the whole segment (vectors only)
`TangentModel`          a classifier with a derivative, by its speeds along the segment (vectors only)
`PredictedLabels`       what a model predicts, in the place of the target
`GaussianProcess`       a Gaussian process for each real target, along the whole segment
`RowProcess`            the same at the rows, for skewed targets and extreme values, too ("auto" unless
                        segments are looked into)
`SeveralTargets`        a posterior for each of several columns, at the rows: classes, ordered ones, quantities
======================  ==========================================================================================
"""

from prismap.metrics.posteriors._choice import PredictedLabels as PredictedLabels
from prismap.metrics.posteriors._gaussian_process import GaussianProcess as GaussianProcess
from prismap.metrics.posteriors._gradients import FunctionModel as FunctionModel
from prismap.metrics.posteriors._machine import LeastSquaresMachine as LeastSquaresMachine
from prismap.metrics.posteriors._parzen import Parzen as Parzen
from prismap.metrics.posteriors._row_process import RowProcess as RowProcess
from prismap.metrics.posteriors._several_targets import SeveralTargets as SeveralTargets
from prismap.metrics.posteriors._trees import Trees as Trees
