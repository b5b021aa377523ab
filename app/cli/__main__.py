"""`python -m app.cli` is `remit`."""

from app.cli.main import main

main()
