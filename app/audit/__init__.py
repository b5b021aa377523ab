"""The audit log: appended to by the commit, sealed into segments, then queried, exported and verified."""
