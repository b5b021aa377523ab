"""Everything stored beside the audit log: agents, policies, API keys, workspaces, and the trail of their changes."""
