"""Positions in the plane from distances: one estimator per file."""

from prismap.embeddings._descent import GradientDescent
from prismap.embeddings.discriminant import KernelDiscriminant
from prismap.embeddings.elastic import ElasticMDS
from prismap.embeddings.gtm import GTM
from prismap.embeddings.isomap import Isomap
from prismap.embeddings.kernel_pca import KernelPCA
from prismap.embeddings.lle import LLE
from prismap.embeddings.mds import MDS
from prismap.embeddings.mvu import MVU
from prismap.embeddings.nerv import NeRV
from prismap.embeddings.som import SOM
from prismap.embeddings.tsne import TSNE

__all__ = [
    "GTM", "LLE", "MDS", "MVU", "SOM", "TSNE", "ElasticMDS", "GradientDescent", "Isomap", "KernelDiscriminant",
    "KernelPCA", "NeRV",
]  # fmt: skip
