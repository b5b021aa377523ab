#!lua flags=allow-oom
--[[
read_pointer: the value of a pointer, as a master that takes writes has it.

A node that was the master until a failover may not have what its successor has acknowledged. It refuses this script,
which is therefore not marked as one that only reads.

KEYS[1]       pointer         string; what a record is found by, before its workspace is known

RETURNS       {status, value}
  found       value is the pointer's
  absent      there is no such pointer; value is ""
WRITES        nothing
TIME          O(1)
HOLDS         I8 an acknowledged change binds
]]
assert(#KEYS == 1 and #ARGV == 0, 'ARITY')
local pointer = KEYS[1]

local value = redis.call('GET', pointer)
return value and {'found', value} or {'absent', ''}
