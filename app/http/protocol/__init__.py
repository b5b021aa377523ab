"""HTTP/1.1 as a replica speaks it: parsing, dispatch, and the limits on size and time."""
