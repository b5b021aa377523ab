"""HTTP/1.1 as a replica speaks it: what is a request, who answers it, and how long and how much is waited for."""
