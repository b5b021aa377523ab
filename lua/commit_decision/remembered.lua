--[[
remembered: a rule about values that people approved before is treated as a quota that is full while one is not
remembered; a call that uses an approval makes its values remembered. So is a rule about the session's pinned request.

This quota's key is not a list but the hash of what the rule remembers for the agent: MAC of a value -> when a person
approved it (ms), the id of the approval, and the name of the parameter, each after a space; or the hash of the session's
pinned request: its MAC -> when it was pinned (ms), and what else is known about it.

ARGV[p+1]     looks_up        for each such quota, `<quota> <ms>=<mac>,… …;`: of each value, how long an approval counts and
                              its MACs, of which one must be remembered; a value without one never is
ARGV[p+2]     remembers       `<quota> <mac> <parameter>` and a line feed for each value to remember if the call uses an
                              approval

WRITES        that hash, if the call uses an approval: up to 1,000 values, of which the oldest go
HOLDS         I14 an approval is of one call, used as often as it says
]]
--@ names
local looks_up = arg_before.remembered and ARGV[arg_before.remembered + 1]
local remembers = arg_before.remembered and ARGV[arg_before.remembered + 2]
local to_remember
--@ wait
if looks_up then
  for i, targets in string.gmatch(looks_up, '(%d+)([^;]*);') do
    local quota, wait = quota_at(i), 0
    for within_ms, macs in string.gmatch(targets, ' (%d+)=(%S*)') do
      local is_remembered = false
      for mac in string.gmatch(macs, '%x+') do
        local approved_ms = tonumber(string.match(call('HGET', quota, mac) or '', '^%d+'))
        local age_ms = approved_ms and time_ms - approved_ms
        -- Approved later than now: the clock has been set back, and how old the value is, is not known.
        is_remembered = is_remembered or age_ms and age_ms >= 0 and age_ms < tonumber(within_ms)
      end
      if not is_remembered then wait = math.huge end
    end
    state.custom[tonumber(i)] = {wait = wait}
  end
end
--@ judge
if remembers and state.approval == 'used' then
  to_remember = {}
  for i, mac, parameter in string.gmatch(remembers, '(%d+) (%x+) ([^\n]*)\n') do
    local quota, _, window_us = quota_at(i)
    -- Scripts do not roll back: a key of the wrong type must fail before the first write.
    call('HLEN', quota)
    to_remember[#to_remember + 1] = {quota = quota, mac = mac, parameter = parameter, window_ms = window_us / 1000}
  end
end
--@ write
if to_remember then
  local windows_ms = {}
  for _, value in ipairs(to_remember) do
    call('HSET', value.quota, value.mac, state.approved_ms .. ' ' .. state.approval_id .. ' ' .. value.parameter)
    windows_ms[value.quota] = value.window_ms
  end
  for quota, window_ms in pairs(windows_ms) do
    local over = call('HLEN', quota) - 1000
    if over > 0 then
      local all, ages = call('HGETALL', quota), {}
      for i = 1, #all, 2 do ages[#ages + 1] = {tonumber(string.match(all[i + 1], '^%d+')) or 0, all[i]} end
      table.sort(ages, function(one, other) return one[1] < other[1] end)
      for i = 1, over do call('HDEL', quota, ages[i][2]) end
    end
    call('PEXPIRE', quota, string.format('%.0f', window_ms))
  end
end
