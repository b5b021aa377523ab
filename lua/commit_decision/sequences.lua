--[[
sequences: a rule about the session's earlier calls is treated as a quota that is full while the rule fails.

This quota's key is not a list but session_marks or agent_marks (see the part marks) of the session.

ARGV[p+1]     looks_back      for each, `<quota> after <mark> …;` = full while the session has one of the marks, younger
                              than window_us, or `<quota> before <mark> …;` = full while it has none of them; `once` = as
                              before, and an allowed call ends these marks; `spent` = never full, and ends them as well

RETURNS       retry_us        0 = room may never come
WRITES        if allowed, the time 0 for the marks that the call ends, after those that it leaves itself
HOLDS         I15 a session's past is what it was allowed
]]
--@ names
local looks_back = arg_before.sequences and ARGV[arg_before.sequences + 1]
--@ wait
if looks_back then
  for i, side, marks in string.gmatch(looks_back, '(%d+) (%l+)([^;]*);') do
    local session_marks, _, window_us = quota_at(i)
    local names, ends = {}, nil
    local latest_us = -window_us
    for name in string.gmatch(marks, ' (%x+)') do names[#names + 1] = name end
    for _, marked_us in ipairs(call('HMGET', session_marks, unpack(names))) do
      local at_us = tonumber(marked_us or latest_us)
      assert(at_us > -EXACT and at_us < EXACT, 'A session holds what is no time')
      latest_us = math.max(latest_us, at_us)
    end
    local wait = latest_us + window_us - quota_us
    if side ~= 'after' then wait = (wait > 0 or side == 'spent') and 0 or math.huge end
    if side == 'once' or side == 'spent' then ends = names end
    state.custom[tonumber(i)] = {wait = wait, ends = ends}
  end
end
--@ write
if looks_back and (state.result == 'allowed' or state.takes) then
  for i in string.gmatch(looks_back, '(%d+) [^;]*;') do
    local session_marks = quota_at(i)
    for _, name in ipairs(state.custom[tonumber(i)].ends or {}) do
      -- Only what is there: what no session has cannot be ended, and must not make a new key.
      if call('HEXISTS', session_marks, name) == 1 then call('HSET', session_marks, name, '0') end
    end
  end
end
