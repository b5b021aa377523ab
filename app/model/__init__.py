"""The vocabulary: what a key, an agent, a policy, a decision and an audit entry are. No I/O."""
