"""Resources as people and programs see them: one shape for the API and for `remit … --json`."""
