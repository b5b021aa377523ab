"""The only importer of redis. Cold paths use redis-py (`client`), decisions a pipelined connection (`pipelined`)."""
