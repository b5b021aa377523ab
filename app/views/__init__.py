"""Resources as answers show them: one shape for the API and for `remit … --json`."""
