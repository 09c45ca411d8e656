"""The papers' tables and ours: one script a table, the folder of the data sets as an argument."""
