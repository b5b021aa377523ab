"""`remit serve`: the processes of one machine, and the store that it starts with them."""
