"""What every process of the service runs on: lanes, fairness, threads, clock, logs, metrics."""
