--[[
breakers: a denied call counts in its agent's denial breakers, and a denial that fills one may suspend the agent.

A breaker that escalates or denies is also listed as a quota: while it is full, so is the quota, and no call is taken from
it. A denial that only such a breaker causes counts in none, so that waiting helps.

KEYS[p+1]     changes         stream; the trail of changes
KEYS[p+1+i]   denials         list; breaker i: times of the agent's denied calls (us of quota time), newest first; if the
                              breaker has buckets, followed by
              live            sorted set; its buckets in use, as for a limit

ARGV[p+1]     before          for the trail: JSON of the agent's fields that a suspension changes, `%.0f` for its revision
ARGV[p+2]     after           the same fields afterwards
ARGV[p+3]     breakers        two lines for each, either followed by a line feed: `<most> <window_us> <action> <quota>
                              <policy> <bucket>` and the reason, a sentence. `most` denials within `window_us` fill it;
                              action = suspend, escalate, deny; quota = the number of its quota, 0 = it has none;
                              policy = the id of its policy; bucket = its name in `live`, empty = it has only one

ADDS          tripped         the action of the breaker that the denial fills: suspend, if it suspends the agent
RETURNS       crowded         values, if the breaker of the full quota has too many buckets in use
WRITES        if denied, denials and live; if that suspends the agent, its record and changes
TIME          O(1) per breaker, O(log N) for one of N live buckets
HOLDS         I8 an acknowledged change binds, I13 no change without its entry in the trail, I19 a breaker trips exactly
]]
--@ names
local changes, before, after, breakers, counting, tripped, filled, breaker_wait
if arg_before.breakers then
  changes = KEYS[key_before.breakers + 1]
  before, after, breakers = unpack(ARGV, arg_before.breakers + 1, arg_before.breakers + 3)
end
--@ wait
if breakers then
  -- Time until the denial at this index of its list leaves the breaker's window; 0 = there is none in it.
  breaker_wait = function(breaker, index)
    local time = call('LINDEX', breaker.denials, index)
    assert(not time or time + 0 < EXACT, 'A breaker holds what is no time')
    return time and math.max(0, time + breaker.window_us - quota_us) or 0
  end

  counting = {}
  local place = key_before.breakers + 1
  local each = '(%d+) (%d+) (%l+) (%d+) (%S+) (%x*)\n([^\n]+)\n'
  for most, window_us, action, i, its_policy, bucket, why in string.gmatch(breakers, each) do
    place = place + 1
    local denials = KEYS[place]
    local breaker = {most = most, window_us = window_us, action = action, quota = i + 0, policy = its_policy, why = why,
      denials = denials, crowded = 0}
    counting[#counting + 1] = breaker
    if bucket ~= '' then
      place = place + 1
      local live = KEYS[place]
      breaker.live, breaker.bucket, breaker.crowded = live, bucket, live_wait(live, bucket, 10000)
    end
    if breaker.quota > 0 then
      local _, newest_spared = quota_at(breaker.quota)
      local wait = math.max(breaker.crowded, breaker_wait(breaker, newest_spared))
      state.custom[breaker.quota] = {wait = wait, crowded = breaker.crowded > 0 and 'values' or nil, denies = action == 'deny'}
    end
  end
end
--@ judge
local by_breaker = state.full > 0 and state.custom[state.full]
if counting and state.result == 'denied' and not (by_breaker and by_breaker.denies) then
  for _, breaker in ipairs(counting) do
    -- This denial fills it if the one `most - 1` places before it is still in the window.
    local fills = breaker_wait(breaker, breaker.most - 2) > 0 or breaker.most == '1'
    if breaker.action == 'suspend' then
      if fills and not tripped then tripped = breaker end
    elseif fills and not filled and breaker.crowded == 0 and breaker_wait(breaker, breaker.most - 1) == 0 then
      filled = breaker
    end
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
if tripped or filled then reply[#reply + 1], reply[#reply + 2] = 'tripped', (tripped or filled).action end
--@ entry
if tripped then
  state.extras[#state.extras + 1] = 'suspendedBy'
  state.extras[#state.extras + 1] = tripped.policy
end
if filled then
  state.extras[#state.extras + 1] = 'trippedBy'
  state.extras[#state.extras + 1] = filled.policy
end
--@ write
if counting then
  for _, breaker in ipairs(counting) do
    if breaker.crowded == 0 then
      -- Keep 1000, the largest maximum of a breaker: an edited maximum stays exact, and a storm cannot fill the store.
      if call('LPUSH', breaker.denials, quota_text) > 1000 then call('LTRIM', breaker.denials, 0, 999) end
      local spent_us = quota_us + breaker.window_us
      call('PEXPIREAT', breaker.denials, expiry_of(spent_us))
      if breaker.live then
        keep_live(breaker.live, breaker.bucket, spent_us)
        call('PEXPIREAT', breaker.live, expiry_of(spent_us))
      end
    end
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
