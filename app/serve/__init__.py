"""`remit serve`: the processes of one machine, and the store that is started with them."""
