"""The only importer of redis: what is kept, where, and the scripts that change it.

Cold paths go through redis-py (`client`); decisions through a pipelined connection of our own (`link`).
"""
