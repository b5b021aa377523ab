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

RETURNS       approval        ends in `tripped` if the denial suspends the agent
WRITES        if denied, denials; if that suspends the agent, its record and changes
TIME          O(1) per breaker
HOLDS         I8 an acknowledged change binds, I13 no change without its entry in the trail, I18 a breaker ends a storm
              exactly
]]
--@ wait
local breakers = {}
if arg_before.breakers then
  owns = owns or {}
  local each = '(%d+) (%d+) (%S+) ([^\n]+)\n([^\n]+)\n'
  for most, window_us, acts, its_policy, why in string.gmatch(ARGV[arg_before.breakers + 3], each) do
    local suspends, i = acts == 'suspend', tonumber(acts)
    breakers[#breakers + 1] = {most = most, window_us = window_us, suspends = suspends, policy = its_policy, why = why}
    if i and i > 0 then
      local oldest = call('LINDEX', KEYS[4 + i], ARGV[11 + 6 * i])
      assert(not oldest or oldest + 0 < EXACT, 'A breaker holds what is no time')
      owns[i] = {wait = oldest and math.max(0, oldest + ARGV[12 + 6 * i] - quota_us) or 0}
    end
  end
end
--@ judge
local trip
if result ~= 'denied' then breakers = {} end
for n, breaker in ipairs(breakers) do
  local denials = KEYS[key_before.breakers + 1 + n]
  -- This denial trips it if the one `most - 1` places before it is still in the window.
  local has_one, oldest = call('LLEN', denials) > 0, nil
  if breaker.most == '1' then
    oldest = quota_us
  elseif has_one then
    oldest = call('LINDEX', denials, breaker.most - 2)
    assert(not oldest or oldest + 0 < EXACT, 'A breaker holds what is no time')
  end
  if breaker.suspends and not trip and oldest and oldest + breaker.window_us > quota_us then trip = breaker end
end
if trip then
  -- Scripts do not roll back: a key of the wrong type must fail before the first write.
  call('XLEN', KEYS[key_before.breakers + 1])
  local held = call('HMGET', agent, 'revision', 'updated_ms')
  trip.revision, trip.updated_ms = tonumber(held[1] or 1), math.max(time_ms, tonumber(held[2]) + 1)
  approval_text = approval_text .. 'tripped'
end
--@ entry
if trip then
  extras[#extras + 1] = 'suspendedBy'
  extras[#extras + 1] = trip.policy
end
--@ write
for n, breaker in ipairs(breakers) do
  local denials = KEYS[key_before.breakers + 1 + n]
  -- Keep 1000, the largest maximum of a breaker: an edited maximum stays exact, and a storm cannot fill the store.
  if call('LPUSH', denials, quota_text) > 1000 then call('LTRIM', denials, 0, 999) end
  call('PEXPIRE', denials, string.format('%.0f', breaker.window_us / 1000 * 2 + 1000))
end
if trip then
  local before, after = unpack(ARGV, arg_before.breakers + 1, arg_before.breakers + 2)
  call('XADD', KEYS[key_before.breakers + 1], '*', 'actorId', 'breaker', 'actorName', 'breaker', 'kind', 'updated',
    'resourceType', 'agent', 'resourceId', agent_id,
    'before', string.format(before, trip.revision), 'after', string.format(after, trip.revision + 1),
    'sequence', sequence_text, 'reason', trip.why, 'policyId', trip.policy, 'decisionId', decision_id)
  -- The decision's id serves as the version token: it is as random, and unique to this change.
  call('HSET', agent, 'status', 'suspended', 'version', (string.gsub(decision_id, '-', '')),
    'revision', string.format('%.0f', trip.revision + 1), 'updated_ms', string.format('%.0f', trip.updated_ms),
    'approvals_ended', sequence_text, 'tripped', trip.policy .. ' ' .. decision_id)
end
