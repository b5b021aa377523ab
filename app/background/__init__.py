"""What the background process does: sealing and everything else that nobody waits for, as a list of jobs."""
