"""Remit decides whether an AI agent may call a tool, and records every answer it gives."""
