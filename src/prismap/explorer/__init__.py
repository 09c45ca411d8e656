"""The page: self-contained file, live explorer, notebook."""
