"""Examples of request and answer bodies, shown in the OpenAPI document and on /docs/api; the endpoints name them.

Tests decode the requests, and compare the answers with the service's own.
"""
