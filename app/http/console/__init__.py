"""The web console: a page that is a client of /v1, and nothing else. `files` serves it, `static` has what is served."""
