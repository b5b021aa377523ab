#!lua flags=no-writes
--[[
read_quotas: return how much of some rate limits and budgets is taken, and when that decreases; nothing is taken.

KEYS[1]       commits         hash; state of the last commit: time_us, skew_us
KEYS[1+i]     quota           list; in the format of commit_decision

ARGV[1]       now_us          store time, us since the epoch; "" = the server's clock
ARGV[2i]      window_us       quota i: us
ARGV[1+2i]    kind            quota i: calls, or budget

RETURNS       {status, quota_us, levels}
  read        quota_us = current quota time; levels = two strings for each quota: the calls in the window, or the
              millionths spent of a budget; and the us until the oldest of them leaves the window, 0 = there is none
WRITES        nothing
TIME          O(Q log N) list reads, Q quotas of N entries
HOLDS         I3 quotas all or nothing
]]
assert(#KEYS >= 1 and #ARGV == 2 * #KEYS - 1, 'ARITY')
local TOTALS = 4503599627370496
local commits, now_us = KEYS[1], tonumber(ARGV[1])
if not now_us then
  local clock = redis.call('TIME')
  now_us = clock[1] * 1000000 + clock[2]
end
local last = redis.call('HMGET', commits, 'time_us', 'skew_us')
local quota_us = math.max(now_us, tonumber(last[1] or 0)) + tonumber(last[2] or 0)
assert(quota_us >= now_us and quota_us < 2 ^ 53, 'The quota time is no time')
local levels = {}
for i = 2, #KEYS do
  local window_us, is_budget = tonumber(ARGV[2 * i - 2]), ARGV[2 * i - 1] == 'budget'
  -- The list is sorted, newest first: the first `live` entries are in the window; usually all of a list are.
  local live, gone = 0, redis.call('LLEN', KEYS[i])
  local first = redis.call('LINDEX', KEYS[i], -1)
  if first and tonumber(string.match(first, '^%d+')) + window_us > quota_us then live = gone end
  while live < gone do
    local middle = math.floor((live + gone) / 2)
    local time = tonumber(string.match(redis.call('LINDEX', KEYS[i], middle), '^%d+'))
    if time + window_us > quota_us then live = middle + 1 else gone = middle end
  end
  local taken, leaves_us = live, 0
  if live > 0 then
    local oldest = redis.call('LINDEX', KEYS[i], live - 1)
    leaves_us = tonumber(string.match(oldest, '^%d+')) + window_us - quota_us
    if is_budget then
      local newest, before = redis.call('LINDEX', KEYS[i], 0), redis.call('LINDEX', KEYS[i], live) or '0 0'
      taken = (tonumber(string.match(newest, '%d+$')) - tonumber(string.match(before, '%d+$'))) % TOTALS
    end
  end
  levels[#levels + 1] = string.format('%.0f', taken)
  levels[#levels + 1] = string.format('%.0f', leaves_us)
end
return {'read', string.format('%.0f', quota_us), levels}
