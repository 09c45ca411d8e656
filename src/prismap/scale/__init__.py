"""Maps of files of any size."""
