#!lua flags=allow-oom
--[[
drop_spent_counts: remove what rules counted once it counts no more.

KEYS[1]       commits         hash; state of the last commit: time_us, skew_us
KEYS[1+i]     counted         list, hash or sorted set; its expiry says from what quota time on it counts no more

ARGV[1]       grace_ms        how much later than that it expires

RETURNS       {status, dropped}
  dropped     dropped = how many keys were removed
WRITES        the spent keys
TIME          O(N), N keys, plus the length of those removed
HOLDS         I3 quotas all or nothing, I15 a session's past is what it was allowed, I19 a breaker trips exactly
]]
assert(#ARGV == 1, 'ARITY')
local commits, grace_ms = KEYS[1], tonumber(ARGV[1])
-- By the last commit's quota time, not by the clock: what was spent then is spent for every later commit.
local last = redis.call('HMGET', commits, 'time_us', 'skew_us')
local quota_us = tonumber(last[1] or 0) + tonumber(last[2] or 0)
assert(quota_us >= 0 and quota_us < 2 ^ 53, 'The quota time is no time')
local dropped = 0
for i = 2, #KEYS do
  -- Keys that never expire are below 0.
  local spent_ms = redis.call('PEXPIRETIME', KEYS[i]) - grace_ms
  if spent_ms > 0 and spent_ms * 1000 <= quota_us then
    redis.call('DEL', KEYS[i])
    dropped = dropped + 1
  end
end
return {'dropped', dropped}
