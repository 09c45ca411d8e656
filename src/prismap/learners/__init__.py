"""Prototype models and metric learners: RSLVQ, GMLVQ, LGMLVQ, LMNN."""

from prismap.learners.gmlvq import GMLVQ
from prismap.learners.lgmlvq import LGMLVQ
from prismap.learners.lmnn import LMNN
from prismap.learners.rslvq import RSLVQ

__all__ = ["GMLVQ", "LGMLVQ", "LMNN", "RSLVQ"]
