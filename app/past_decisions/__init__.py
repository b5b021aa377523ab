"""Explains logged decisions: judges each again by the policies that governed its agent then."""
