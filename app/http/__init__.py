"""The HTTP layer: the only importer of litestar. One file per resource, and what they share."""
