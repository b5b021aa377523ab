--[[
sequences: a rule about the session's earlier calls is treated as a quota that is full while the rule fails.

This quota's key is not a list but session_marks or agent_marks (see the part marks) of the session.

ARGV[p+1]     looks_back      for each, `<quota> after <mark> …;` = full while the session has one of the marks, younger
                              than window_us, or `<quota> before <mark> …;` = full while it has none of them

RETURNS       retry_us        0 = room may never come
HOLDS         I15 a session's past is what it was allowed
]]
--@ names
local looks_back = arg_before.sequences and ARGV[arg_before.sequences + 1]
--@ wait
if looks_back then
  for i, side, marks in string.gmatch(looks_back, '(%d+) (%l+)([^;]*);') do
    local session_marks, _, window_us = quota_at(i)
    local names = {}
    local latest_us = -window_us
    for name in string.gmatch(marks, ' (%x+)') do names[#names + 1] = name end
    for _, marked_us in ipairs(call('HMGET', session_marks, unpack(names))) do
      local at_us = tonumber(marked_us or latest_us)
      assert(at_us > -EXACT and at_us < EXACT, 'A session holds what is no time')
      latest_us = math.max(latest_us, at_us)
    end
    local wait = latest_us + window_us - quota_us
    if side == 'before' then wait = wait > 0 and 0 or math.huge end
    state.custom[tonumber(i)] = {wait = wait}
  end
end
