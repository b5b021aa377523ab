"""The background process: sealing and everything else that no caller waits for, as a list of jobs."""
