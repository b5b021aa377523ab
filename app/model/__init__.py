"""The vocabulary: keys, agents, policies, decisions and audit entries as structs. No I/O."""
