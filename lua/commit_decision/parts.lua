--[[
parts: where each part of this call has its keys and arguments, and what several parts use.

ARGV[p+1]     parts           the last argument: for each part that the call has, from the last to the first, its name and
                              how many keys and arguments it has, a space after each; they come after the quotas'
]]
--@ names
-- Of a part that the call has: what stands before its keys and arguments.
local key_before, arg_before = {}, {}
last_arg = last_arg - 1
for part, key_number, arg_number in string.gmatch(ARGV[#ARGV], '([%l_]+) (%d+) (%d+) ') do
  last_key, last_arg = last_key - key_number, last_arg - arg_number
  key_before[part], arg_before[part] = last_key, last_arg
end
--@ wait
local live_wait, keep_live
if arg_before.limits or arg_before.marks or arg_before.shadow then
  -- How long until the sorted set KEYS[place], of at most `most` live members, has room for it; 0 = now, or it is in.
  live_wait = function(place, name, most)
    local until_us = call('ZSCORE', KEYS[place], name)
    if until_us and tonumber(until_us) > quota_us then return 0 end
    local after = '(' .. string.format('%.0f', quota_us)
    if call('ZCOUNT', KEYS[place], after, '+inf') < most then return 0 end
    return tonumber(call('ZRANGEBYSCORE', KEYS[place], after, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]) - quota_us
  end

  -- The sorted set holds the name until quota time is until_us; for each that is new, two of those that are over go.
  keep_live = function(place, name, until_us)
    if call('ZADD', KEYS[place], string.format('%.0f', until_us), name) == 0 then return end
    for _, over in ipairs(call('ZRANGEBYSCORE', KEYS[place], '-inf', string.format('%.0f', quota_us), 'LIMIT', 0, 2)) do
      call('ZREM', KEYS[place], over)
    end
  end
end
--@ judge
-- What never has room is not waited for.
if retry_us == math.huge then retry_us = 0 end
