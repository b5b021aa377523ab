"""Remit decides whether an AI agent may call a tool, and keeps a log in which no answer is missing."""
