--[[
breakers: a denied call counts in its agent's denial breakers, and a denial that trips one may suspend the agent.

A breaker that escalates is also listed as a quota: once tripped it is full, and no call is taken from it.

KEYS[p+1]     changes         stream; the trail of changes
KEYS[p+1+i]   denials         list; breaker i: times of the agent's denied calls (us of quota time), newest first

ARGV[p+1]     before          for the trail: JSON of the agent's fields that a suspension changes, `%.0f` for its revision
ARGV[p+2]     after           the same fields afterwards
ARGV[p+3]     breakers        two lines for each, either followed by a line feed: `<most> <window_us> <acts> <policy>` and
                              the reason, a sentence. `most` denials within `window_us` trip it; acts = `suspend`, or the
                              number of its quota, 0 = it has none; policy = the id of its policy

ADDS          tripped         1 = the denial suspends the agent
WRITES        if denied, denials; if that suspends the agent, its record and changes
TIME          O(1) per breaker
HOLDS         I8 an acknowledged change binds, I13 no change without its entry in the trail, I19 a breaker trips exactly
]]
--@ names
local changes, before, after, breakers, counting, tripped
if arg_before.breakers then
  changes = KEYS[key_before.breakers + 1]
  before, after, breakers = unpack(ARGV, arg_before.breakers + 1, arg_before.breakers + 3)
end
--@ wait
if breakers then
  counting = {}
  local each = '(%d+) (%d+) (%S+) ([^\n]+)\n([^\n]+)\n'
  for most, window_us, acts, its_policy, why in string.gmatch(breakers, each) do
    local denials = KEYS[key_before.breakers + 2 + #counting]
    counting[#counting + 1] = {most = most, window_us = window_us, suspends = acts == 'suspend', policy = its_policy,
      why = why, denials = denials}
    local i = tonumber(acts)
    if i and i > 0 then
      local quota, newest_spared, quota_window_us = quota_at(i)
      local oldest = call('LINDEX', quota, newest_spared)
      assert(not oldest or oldest + 0 < EXACT, 'A breaker holds what is no time')
      state.custom[i] = {wait = oldest and math.max(0, oldest + quota_window_us - quota_us) or 0}
    end
  end
end
--@ judge
if counting and state.result == 'denied' then
  for _, breaker in ipairs(counting) do
    -- This denial trips it if the one `most - 1` places before it is still in the window.
    local has_one, oldest = call('LLEN', breaker.denials) > 0, nil
    if breaker.most == '1' then
      oldest = quota_us
    elseif has_one then
      oldest = call('LINDEX', breaker.denials, breaker.most - 2)
      assert(not oldest or oldest + 0 < EXACT, 'A breaker holds what is no time')
    end
    if breaker.suspends and not tripped and oldest and oldest + breaker.window_us > quota_us then tripped = breaker end
  end
else
  counting = nil
end
if tripped then
  -- Scripts do not roll back: a key of the wrong type must fail before the first write.
  call('XLEN', changes)
  local current = call('HMGET', agent, 'revision', 'updated_ms')
  tripped.revision, tripped.updated_ms = tonumber(current[1] or 1), math.max(time_ms, tonumber(current[2]) + 1)
end
--@ reply
if tripped then reply[#reply + 1], reply[#reply + 2] = 'tripped', 1 end
--@ entry
if tripped then
  state.extras[#state.extras + 1] = 'suspendedBy'
  state.extras[#state.extras + 1] = tripped.policy
end
--@ write
if counting then
  for _, breaker in ipairs(counting) do
    -- Keep 1000, the largest maximum of a breaker: an edited maximum stays exact, and a storm cannot fill the store.
    if call('LPUSH', breaker.denials, quota_text) > 1000 then call('LTRIM', breaker.denials, 0, 999) end
    call('PEXPIREAT', breaker.denials, expiry_of(quota_us + breaker.window_us))
  end
end
if tripped then
  call('XADD', changes, '*', 'actorId', 'breaker', 'actorName', 'breaker', 'kind', 'updated',
    'resourceType', 'agent', 'resourceId', agent_id,
    'before', string.format(before, tripped.revision), 'after', string.format(after, tripped.revision + 1),
    'sequence', sequence_text, 'reason', tripped.why, 'policyId', tripped.policy, 'decisionId', decision_id)
  -- The decision's id serves as the version token: it is as random, and unique to this change.
  call('HSET', agent, 'status', 'suspended', 'version', (string.gsub(decision_id, '-', '')),
    'revision', string.format('%.0f', tripped.revision + 1), 'updated_ms', string.format('%.0f', tripped.updated_ms),
    'approvals_ended', sequence_text, 'tripped', tripped.policy .. ' ' .. decision_id)
end
