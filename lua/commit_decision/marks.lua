--[[
marks: an allowed call leaves in its session what sequence rules look back on.

KEYS[p+1]     session_marks   hash; mark -> when the session was allowed, by whichever agent, what it stands for (us, quota
                              time)
KEYS[p+2]     agent_marks     hash; the same of this agent alone
KEYS[p+2+i]   live            for each of `leaves`, the sessions in which the agent has left it: sorted set; score = until
                              when it counts

ARGV[p+1]     leaves          `<session> <mark> <us> <us> …`: what the session is called in `live`; for how long the mark
                              counts in session_marks and in agent_marks, 0 = it is not left there; `~` before a mark =
                              where there is no room for it, the call is allowed without it

RETURNS       full            quotas + 1 = a mark counts in too many sessions of the agent
WRITES        if allowed, all of them
HOLDS         I15 a session's past is what it was allowed
]]
--@ names
local session_marks, agent_marks, leaves
if arg_before.marks then
  session_marks, agent_marks = unpack(KEYS, key_before.marks + 1)
  leaves = ARGV[arg_before.marks + 1]
end
--@ judge
-- A mark that there is no room for is a call that cannot be allowed: those that come after would not be held against it.
local session, left
if leaves and result == 'allowed' then
  local marks_text
  left = {}
  session, marks_text = string.match(leaves, '^(%S+)(.*)$')
  for soft, mark, shared_us, own_us in string.gmatch(marks_text, ' (~?)(%x+) (%d+) (%d+)') do
    local place = key_before.marks + 3 + #left
    local wait = live_wait(place, session, 1000)
    left[#left + 1] = {name = mark, shared_us = tonumber(shared_us), own_us = tonumber(own_us), place = place,
      has_room = wait == 0}
    if soft == '' then retry_us = math.max(retry_us, wait) end
  end
  -- Scripts do not roll back: keys of another type must be errors before the first write.
  call('HLEN', session_marks)
  call('HLEN', agent_marks)
  if retry_us > 0 then
    full, result, policy, rule = quotas + 1, 'denied', '', ''
    reason = 'Sequence rules look back on 1000 sessions of the agent already'
  end
end
--@ write
if session and result == 'allowed' then
  local shared_longest_us, own_longest_us = 0, 0
  -- By the store's timer, with as long again in hand; what is there for longer stays for longer.
  local function keep(place, counts_us)
    local life_ms = math.ceil(counts_us / 1000) * 2 + 1000
    if counts_us > 0 and call('PTTL', KEYS[place]) < life_ms then
      call('PEXPIRE', KEYS[place], string.format('%.0f', life_ms))
    end
  end
  for _, mark in ipairs(left) do
    if mark.has_room then
      local shared_us, own_us = mark.shared_us, mark.own_us
      if shared_us > 0 then call('HSET', session_marks, mark.name, quota_text) end
      if own_us > 0 then call('HSET', agent_marks, mark.name, quota_text) end
      shared_longest_us, own_longest_us = math.max(shared_longest_us, shared_us), math.max(own_longest_us, own_us)
      keep_live(mark.place, session, quota_us + math.max(shared_us, own_us))
      keep(mark.place, math.max(shared_us, own_us))
    end
  end
  keep(key_before.marks + 1, shared_longest_us)
  keep(key_before.marks + 2, own_longest_us)
end
