--[[
parts: locate the keys and arguments of each part that this call has, and define functions that several parts share.

ARGV[p+1]     parts           the last argument: for each part of the call, from last to first, its name and how many keys
                              and arguments it has, each followed by a space; they come after the quotas'
]]
--@ names
-- The numbers of keys and arguments before a part's own; nil for parts that the call does not have.
local key_before, arg_before = {}, {}
last_arg = last_arg - 1
for part, key_number, arg_number in string.gmatch(ARGV[#ARGV], '([%l_]+) (%d+) (%d+) ') do
  last_key, last_arg = last_key - key_number, last_arg - arg_number
  key_before[part], arg_before[part] = last_key, last_arg
end
--@ wait
local live_wait, keep_live
if arg_before.limits or arg_before.marks or arg_before.shadow then
  -- Time until the sorted set KEYS[place], of at most `most` live members, has room for `name`; 0 = now, or it is in.
  live_wait = function(place, name, most)
    local until_us = call('ZSCORE', KEYS[place], name)
    if until_us and tonumber(until_us) > quota_us then return 0 end
    local after = '(' .. string.format('%.0f', quota_us)
    if call('ZCOUNT', KEYS[place], after, '+inf') < most then return 0 end
    return tonumber(call('ZRANGEBYSCORE', KEYS[place], after, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]) - quota_us
  end

  -- Keeps `name` in the sorted set until quota time is until_us; each new member removes up to two expired ones.
  keep_live = function(place, name, until_us)
    if call('ZADD', KEYS[place], string.format('%.0f', until_us), name) == 0 then return end
    for _, over in ipairs(call('ZRANGEBYSCORE', KEYS[place], '-inf', string.format('%.0f', quota_us), 'LIMIT', 0, 2)) do
      call('ZREM', KEYS[place], over)
    end
  end
end
--@ judge
-- Where room never comes, there is no time to wait.
if retry_us == math.huge then retry_us = 0 end
