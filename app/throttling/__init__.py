"""Refusals before a request is processed: rates and failed authentications."""
