"""Embeddings shared by two spaces."""
