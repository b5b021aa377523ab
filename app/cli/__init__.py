"""`remit`: the console, one module per group of commands."""
