#!lua flags=no-writes
--[[
read_snapshot: run several reading commands at one moment.

KEYS[i]       key             the key that command i reads

ARGV[-1+2i]   command         name of command i
ARGV[2i]      words           how many arguments follow its key; these come after all the pairs, in the order of commands

RETURNS       {status, replies}
  read        one reply for each command
WRITES        nothing
TIME          O(R), R = what the commands read
HOLDS         I8 an acknowledged change binds every later decision

MULTI would not do: a store at its `maxmemory` refuses it, whatever commands it contains.
]]
assert(#ARGV >= 2 * #KEYS, 'ARITY')
local replies, at = {}, 2 * #KEYS + 1
for i = 1, #KEYS do
  local words = tonumber(ARGV[2 * i])
  replies[i] = redis.call(ARGV[2 * i - 1], KEYS[i], unpack(ARGV, at, at + words - 1))
  at = at + words
end
return {'read', replies}
