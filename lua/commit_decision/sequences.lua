--[[
sequences: a rule about the session's earlier calls is treated as a quota that is full while the rule fails.

This quota's key is not a list but session_marks or agent_marks (see the part marks) of the session.

ARGV[p+1]     looks_back      for each, `<quota> after <mark> …;` = full while the session has one of the marks, younger
                              than window_us, or `<quota> before <mark> …;` = full while it has none of them

RETURNS       retry_us        0 = room may never come
HOLDS         I15 a session's past is what it was allowed
]]
--@ wait
if arg_before.sequences then
  owns = owns or {}
  for i, side, marks in string.gmatch(ARGV[arg_before.sequences + 1], '(%d+) (%l+)([^;]*);') do
    local window_us, names = tonumber(ARGV[12 + 6 * i]), {}
    local latest_us = -window_us
    for name in string.gmatch(marks, ' (%x+)') do names[#names + 1] = name end
    for _, marked_us in ipairs(call('HMGET', KEYS[4 + i], unpack(names))) do
      local at_us = tonumber(marked_us or latest_us)
      assert(at_us > -EXACT and at_us < EXACT, 'A session holds what is no time')
      latest_us = math.max(latest_us, at_us)
    end
    local wait = latest_us + window_us - quota_us
    if side == 'before' then wait = wait > 0 and 0 or math.huge end
    owns[tonumber(i)] = {wait = wait}
  end
end
