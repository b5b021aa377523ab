"""The HTTP server of a worker: uvicorn's protocol, made faster, bounded, and patient when it stops."""
