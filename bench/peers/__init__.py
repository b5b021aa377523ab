"""Scripts that run in bench/.venv, where the peers are installed; they import nothing of Remit."""
