"""Who may take how much of what is scarce; docs/architecture.md has the table."""
