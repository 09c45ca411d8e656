"""The data of a page: a plain value, its binary form, and its file."""

from prismap.page_data.data import Curve, Layer, Neighbors, PageData, Raster, Relevance, Target
from prismap.page_data.file import read_page_file, write_page_file
from prismap.page_data.message import pack_page, unpack_page

__all__ = [
    "Curve",
    "Layer",
    "Neighbors",
    "PageData",
    "Raster",
    "Relevance",
    "Target",
    "pack_page",
    "read_page_file",
    "unpack_page",
    "write_page_file",
]
