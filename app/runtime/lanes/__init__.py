"""The two lanes of a replica: the processes, their channel, and who watches them."""
