"""Explains logged decisions: each is judged again by what governed its agent then."""
