#!lua flags=allow-oom
--[[
take_lease: take or extend the lease, unless another holder has it.

KEYS[1]       audit_lease     string; the holder's name

ARGV[1]       holder          the name under which the caller has it
ARGV[2]       lease_ms        how long it lasts from now on

RETURNS       {status}
  held        the caller has it
  taken       another has it; nothing written
WRITES        the lease
TIME          O(1)
HOLDS         I9 only saves work for it: seal_segment itself keeps two sealers from sealing the same entries

It is a script because at `maxmemory` a plain SET is refused, exactly when sealing matters most.
]]
assert(#KEYS == 1 and #ARGV == 2, 'ARITY')
local audit_lease, holder, lease_ms = KEYS[1], ARGV[1], ARGV[2]

local current = redis.call('GET', audit_lease)
if current and current ~= holder then return {'taken'} end
redis.call('SET', audit_lease, holder, 'PX', lease_ms)
return {'held'}
