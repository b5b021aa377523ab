--[[
marks: an allowed call leaves marks in its session, which sequence rules look up later.

KEYS[p+1]     session_marks   hash; mark -> when the session, by any agent, was last allowed a call that leaves it (us of
                              quota time)
KEYS[p+2]     agent_marks     hash; the same for this agent alone
KEYS[p+2+i]   live            sorted set; one for each mark of `leaves`: the sessions in which the agent has left it;
                              score = until when it counts

ARGV[p+1]     leaves          `<session> <mark> <us> <us> …`: the session's name in `live`; then for each mark how long it
                              counts in session_marks and in agent_marks, 0 = it is not left there. `~` before a mark =
                              if there is no room for it, the call is allowed without it

RETURNS       crowded         `sessions` = a mark counts in too many sessions of the agent; full is 0 then
WRITES        if allowed, all of its keys
HOLDS         I15 a session's past is what it was allowed
]]
--@ names
local session_marks, agent_marks, leaves, session, left
if arg_before.marks then
  session_marks, agent_marks = unpack(KEYS, key_before.marks + 1)
  leaves = ARGV[arg_before.marks + 1]
end
--@ judge
-- A call whose mark has no room is denied: later calls could not be checked against it.
if leaves and state.result == 'allowed' then
  local marks_text
  left = {}
  session, marks_text = string.match(leaves, '^(%S+)(.*)$')
  for soft, mark, shared_us, own_us in string.gmatch(marks_text, ' (~?)(%x+) (%d+) (%d+)') do
    local live = KEYS[key_before.marks + 3 + #left]
    local wait = live_wait(live, session, 1000)
    left[#left + 1] = {name = mark, shared_us = tonumber(shared_us), own_us = tonumber(own_us), live = live,
      has_room = wait == 0}
    if soft == '' then state.retry_us = math.max(state.retry_us, wait) end
  end
  -- Scripts do not roll back: a key of the wrong type must fail before the first write.
  call('HLEN', session_marks)
  call('HLEN', agent_marks)
  if state.retry_us > 0 then
    state.crowded, state.result, state.policy, state.rule = 'sessions', 'denied', '', ''
    state.reason, state.code = 'Sequence rules look back on 1000 sessions of the agent already', 'sequence_forbidden'
  end
end
--@ write
if session and state.result == 'allowed' then
  local shared_longest_us, own_longest_us = 0, 0
  -- Never shortens a longer life.
  local function keep(live, counts_us)
    local expiry = expiry_of(quota_us + counts_us)
    if counts_us > 0 and call('PEXPIRETIME', live) < tonumber(expiry) then call('PEXPIREAT', live, expiry) end
  end
  for _, mark in ipairs(left) do
    if mark.has_room then
      local shared_us, own_us = mark.shared_us, mark.own_us
      if shared_us > 0 then call('HSET', session_marks, mark.name, quota_text) end
      if own_us > 0 then call('HSET', agent_marks, mark.name, quota_text) end
      shared_longest_us, own_longest_us = math.max(shared_longest_us, shared_us), math.max(own_longest_us, own_us)
      keep_live(mark.live, session, quota_us + math.max(shared_us, own_us))
      keep(mark.live, math.max(shared_us, own_us))
    end
  end
  keep(session_marks, shared_longest_us)
  keep(agent_marks, own_longest_us)
end
