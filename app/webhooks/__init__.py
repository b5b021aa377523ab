"""Webhooks: the log and the trail of changes are their outbox, and a background process sends the events."""
