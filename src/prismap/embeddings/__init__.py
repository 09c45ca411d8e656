"""Positions in the plane from distances: one estimator per file."""

from prismap.embeddings._base import Embedding, EmbeddingResult
from prismap.embeddings._descent import GradientDescent
from prismap.embeddings._discriminant import KernelDiscriminant
from prismap.embeddings._elastic import ElasticMDS
from prismap.embeddings._gtm import GTM
from prismap.embeddings._isomap import Isomap
from prismap.embeddings._kernel_pca import KernelPCA
from prismap.embeddings._lle import LLE
from prismap.embeddings._mds import MDS
from prismap.embeddings._mvu import MVU
from prismap.embeddings._nerv import NeRV
from prismap.embeddings._som import SOM
from prismap.embeddings._tsne import TSNE

__all__ = [
    "GTM", "LLE", "MDS", "MVU", "SOM", "TSNE", "ElasticMDS", "Embedding", "EmbeddingResult", "GradientDescent",
    "Isomap", "KernelDiscriminant", "KernelPCA", "NeRV",
]  # fmt: skip
