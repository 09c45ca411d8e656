"""Prototype models and metric learners: RSLVQ, GMLVQ, LMNN."""

from prismap.learners.gmlvq import GMLVQ
from prismap.learners.lmnn import LMNN
from prismap.learners.rslvq import RSLVQ

__all__ = ["GMLVQ", "LMNN", "RSLVQ"]
