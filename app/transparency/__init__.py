"""What others can check of the log: signed checkpoints, and witnesses of them. Loaded only if a key is set."""
