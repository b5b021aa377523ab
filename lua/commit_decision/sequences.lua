--[[
sequences: a rule that looks back on the session stands among the quotas and is full while it fails.

Its quota is no list but session_marks or agent_marks (of the part marks) of the session that it looks back on.

ARGV[p+1]     looks_back      for each `<quota> after <mark> …;` = full while one of the marks is there that is younger than
                              window_us, or `<quota> before <mark> …;` = full while none is

RETURNS       retry_us        0 = it may never have room
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
      latest_us = math.max(latest_us, tonumber(marked_us or latest_us))
    end
    local wait = latest_us + window_us - quota_us
    if side == 'before' then wait = wait > 0 and 0 or math.huge end
    owns[tonumber(i)] = {wait = wait}
  end
end
