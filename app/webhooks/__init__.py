"""Webhooks: the log and the trail of changes are their outbox; the background process sends what they hold."""
