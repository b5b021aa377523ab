#!lua flags=allow-oom
--[[
drop_spent_quotas: remove the buckets whose calls have all left the window.

KEYS[1]       commits         hash; state of the last commit: time_us, skew_us
KEYS[1+i]     quota           list; times of admitted calls (us of quota time), newest first

ARGV[i]       window_us       quota i: us

RETURNS       {status, dropped}
  dropped     dropped = how many buckets were removed
WRITES        the spent buckets
TIME          O(Q), Q quotas, plus the length of those removed
HOLDS         I3 quotas all or nothing
]]
local commits = KEYS[1]
assert(#ARGV == #KEYS - 1, 'ARITY')
-- By the last commit's quota time, not by the clock: what was spent then is spent for every later commit.
local last = redis.call('HMGET', commits, 'time_us', 'skew_us')
local quota_us = tonumber(last[1] or 0) + tonumber(last[2] or 0)
assert(quota_us >= 0 and quota_us < 2 ^ 53, 'The quota time is no time')
local dropped = 0
for i = 2, #KEYS do
  local newest = redis.call('LINDEX', KEYS[i], 0)
  -- In a budget, a total follows the time.
  if newest and tonumber(string.match(newest, '^%d+')) + tonumber(ARGV[i - 1]) <= quota_us then
    redis.call('DEL', KEYS[i])
    dropped = dropped + 1
  end
end
return {'dropped', dropped}
