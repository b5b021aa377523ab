#!lua flags=allow-oom
--[[
take_lease: nobody else takes the lease while it lasts.

KEYS[1]       audit_lease     string; the name of who has it

ARGV[1]       holder          name of who asks
ARGV[2]       lease_ms        how long it lasts from now on

RETURNS       {status}
  held        who asks has it
  taken       another has it; nothing written
WRITES        the lease
TIME          O(1)
HOLDS         I9 none of it: a lease saves work, seal_segment is what keeps two from sealing the same

A script because at `maxmemory` a plain SET is refused, exactly when sealing matters most.
]]
assert(#KEYS == 1 and #ARGV == 2, 'ARITY')
local audit_lease, holder, lease_ms = KEYS[1], ARGV[1], ARGV[2]

local holds = redis.call('GET', audit_lease)
if holds and holds ~= holder then return {'taken'} end
redis.call('SET', audit_lease, holder, 'PX', lease_ms)
return {'held'}
