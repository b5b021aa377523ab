"""What a text of a call means to whoever acts on it: one reading that all agree on, or none. Pure."""
