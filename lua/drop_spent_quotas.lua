#!lua flags=allow-oom
--[[
drop_spent_quotas: the buckets that no call of their window is left in are gone.

KEYS[1]       commits         hash; what the last commit left: time_us, skew_us
KEYS[1+i]     quota           list; times of admitted calls (us, quota time), newest first

ARGV[i]       window_us       quota i: us

RETURNS       {status, dropped}
  dropped     so many buckets are gone
WRITES        the buckets that are spent
TIME          O(Q), Q quotas, and the length of those that go
HOLDS         I3 quotas all or nothing
]]
local commits = KEYS[1]
assert(#ARGV == #KEYS - 1, 'ARITY')
-- By the last commit's quota time and not by the clock: what was spent then is spent for every commit to come.
local last = redis.call('HMGET', commits, 'time_us', 'skew_us')
local quota_us = tonumber(last[1] or 0) + tonumber(last[2] or 0)
local dropped = 0
for i = 2, #KEYS do
  local newest = redis.call('LINDEX', KEYS[i], 0)
  -- Of a budget, the time is followed by a sum.
  if newest and tonumber(string.match(newest, '^%d+')) + tonumber(ARGV[i - 1]) <= quota_us then
    redis.call('DEL', KEYS[i])
    dropped = dropped + 1
  end
end
return {'dropped', dropped}
