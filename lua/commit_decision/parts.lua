--[[
parts: locate the keys and arguments of each part that this call has, and define functions that several parts share.

ARGV[p+1]     parts           the last argument: for each part of the call, from last to first, its name and how many keys
                              and arguments it has, each followed by a space; they come after the quotas'

ADDS          crowded         values, amounts, sessions: what a rule has too many of
]]
--@ names
-- The numbers of keys and arguments before a part's own; nil for parts that the call does not have.
local key_before, arg_before = {}, {}
local parts = ARGV[last_arg]
last_arg = last_arg - 1
for part, key_number, arg_number in string.gmatch(parts, '([%l_]+) (%d+) (%d+) ') do
  last_key, last_arg = last_key - key_number, last_arg - arg_number
  key_before[part], arg_before[part] = last_key, last_arg
end
-- What several parts use; defined once quota time is known.
local live_wait, keep_live
-- When a key expires that counts no more from this quota time on: two centuries later, as the lists of plain quotas do.
local function expiry_of(spent_us) return string.format('%.0f', spent_us / 1000 + 6307200000001) end
--@ state
custom = {}, shared_version = last[4] or '',
--@ wait
if arg_before.limits or arg_before.marks or arg_before.breakers or arg_before.shadow then
  -- Time until the sorted set `live`, of at most `most` live members, has room for `name`; 0 = now, or it is in.
  live_wait = function(live, name, most)
    local until_us = call('ZSCORE', live, name)
    if until_us and tonumber(until_us) > quota_us then return 0 end
    local after = '(' .. string.format('%.0f', quota_us)
    if call('ZCOUNT', live, after, '+inf') < most then return 0 end
    return tonumber(call('ZRANGEBYSCORE', live, after, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]) - quota_us
  end

  -- Keeps `name` in the sorted set `live` until quota time is until_us; each new member removes up to two expired ones.
  keep_live = function(live, name, until_us)
    if call('ZADD', live, string.format('%.0f', until_us), name) == 0 then return end
    for _, over in ipairs(call('ZRANGEBYSCORE', live, '-inf', string.format('%.0f', quota_us), 'LIMIT', 0, 2)) do
      call('ZREM', live, over)
    end
  end
end
--@ reply
if state.crowded then reply[#reply + 1], reply[#reply + 2] = 'crowded', state.crowded end
--@ entry
if state.code then
  state.extras[#state.extras + 1] = 'code'
  state.extras[#state.extras + 1] = state.code
end
