#!lua flags=allow-oom
--[[
note_sign_out: remember that somebody signed out at the identity provider, so that no sign-in from before is completed.

KEYS[1]       signed_out      string; s since the epoch, the latest sign-out

ARGV[1]       at_s            s since the epoch
ARGV[2]       remembered_s    how long it is remembered, s

RETURNS       {status}
  done        signed_out is at_s, or later
WRITES        signed_out
TIME          O(1)
HOLDS         I7 a revoked key gets no decision
]]
assert(#KEYS == 1 and #ARGV == 2, 'ARITY')
local signed_out, at_s, remembered_s = KEYS[1], ARGV[1], ARGV[2]

-- Of two sign-outs, the earlier one may arrive last.
local known_s = redis.call('GET', signed_out)
local latest_s = known_s and tonumber(known_s) > tonumber(at_s) and known_s or at_s
redis.call('SET', signed_out, latest_s, 'EX', remembered_s)
return {'done'}
