"""What the values of a call mean: paths, hosts, addresses, dates, names, JSON Schema. Pure."""
