"""The audit log: appended by the commit, sealed into segments, queried, exported, verified."""
