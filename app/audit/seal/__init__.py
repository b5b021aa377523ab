"""From the stream to sealed segments: what writes the log, repairs it and drops what is too old."""
