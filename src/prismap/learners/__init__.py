"""Prototype models and metric learners: RSLVQ, GMLVQ, LGMLVQ, LMNN."""

from prismap.learners._gmlvq import GMLVQ, LGMLVQ
from prismap.learners._lmnn import LMNN
from prismap.learners._rslvq import RSLVQ

__all__ = ["GMLVQ", "LGMLVQ", "LMNN", "RSLVQ"]
