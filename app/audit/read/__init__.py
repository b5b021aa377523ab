"""Reading the log: search, export, following, counts."""
