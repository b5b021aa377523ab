"""What is kept beside the log: agents, policies, keys, workspaces, and the trail of their changes."""
