--[[
first_answers: a request whose Idempotency-Key was used before is not decided again, unless its first answer allowed
nothing and is no longer valid, or the approval that it asked for is used now. Then the new answer takes its place.

KEYS[p+1]     answer_counts   hash; how many first answers the API key got in each of the last four-hour slots: slot
                              modulo 8 -> `<slot> <count>`
KEYS[p+2]     first_answer    hash; the answer that this Idempotency-Key got before

ARGV[p+1]     body_digest     how many first answers the API key may have, then MACs of the request, newest first;
                              separated by spaces
ARGV[p+2]     used_approval   id of the approval that this commit uses; "" = none

RETURNS
  repeated    first_answer holds the answer to the same request; nothing written
  conflict    first_answer holds the answer to a different request; nothing written
  crowded     the API key has as many first answers as it may have; nothing written
  outdated    first_answer allowed the call under other version tokens, or allows what the plan does not; nothing written
WRITES        first_answer, which is kept until 24 hours after the first one, answer_counts
HOLDS         I8 an acknowledged change binds
]]
--@ names
local answer_counts, first_answer, body_digest, used_approval, slot, answers_in_slot, stands
if arg_before.first_answers then
  answer_counts, first_answer = unpack(KEYS, key_before.first_answers + 1)
  body_digest, used_approval = unpack(ARGV, arg_before.first_answers + 1, arg_before.first_answers + 2)
end
--@ refuse
if first_answer and state.status == 'committed' then
  local first = call('HMGET', first_answer, 'body_digest', 'version', 'shared_version', 'result', 'approvalId')
  if not first[1] then
    local answers = 0
    slot, answers_in_slot = math.floor(time_ms / 14400000), 0
    -- Seven slots, the current one included: the last 24 hours, and up to four hours more.
    for _, held in ipairs(call('HMGET', answer_counts, '0', '1', '2', '3', '4', '5', '6', '7')) do
      local counted_slot, count = string.match(held or '', '^(%d+) (%d+)$')
      if counted_slot and slot - tonumber(counted_slot) < 7 then answers = answers + tonumber(count) end
      if tonumber(counted_slot) == slot then answers_in_slot = tonumber(count) end
    end
    if answers >= tonumber(string.match(body_digest, '^%d+')) then state.status = 'crowded' end
  elseif not string.find(body_digest, first[1], 1, true) then
    state.status = 'conflict'
  elseif first[2] ~= version or first[3] ~= state.shared_version then
    -- What was allowed then may be forbidden now, and deciding again would take the quotas twice: refuse. An answer that
    -- allowed nothing has taken nothing, so it is decided anew.
    if not first[2] or first[4] == 'allowed' then state.status = 'outdated' end
  elseif first[4] == 'escalated' and first[5] then
    -- The question that people were asked stands, whatever else would be asked or is allowed now, until it is answered.
    stands = used_approval ~= first[5]
  elseif first[4] == 'allowed' and state.result ~= 'allowed' and not (state.result == 'escalated' and first[5]) then
    -- Nothing but the time has changed, and with it the plan: a time window has closed. (A call that a person has
    -- approved is still planned as escalated.)
    state.status = 'outdated'
  else
    state.status = 'repeated'
  end
end
--@ reply
if stands and state.status == 'committed' then state.status, reply[1] = 'repeated', 'repeated' end
--@ write
if first_answer then
  call('HSET', first_answer, 'body_digest', string.match(body_digest, '^%d+ (%S+)'), 'version', version,
    'shared_version', state.shared_version, 'id', decision_id, 'result', state.result, 'policyId', policy_id,
    'rule', state.rule, 'reason', state.reason, 'timeUs', time_text, 'latencyUs', latency_text, 'retryUs', string.format('%.0f', state.retry_us))
  call('HDEL', first_answer, 'approvalId', 'code')
  if state.approval_id then call('HSET', first_answer, 'approvalId', state.approval_id) end
  if state.code then call('HSET', first_answer, 'code', state.code) end
  if slot then
    call('PEXPIRE', first_answer, '86400000')
    call('HSET', answer_counts, string.format('%d', slot % 8), string.format('%d %d', slot, answers_in_slot + 1))
    call('PEXPIRE', answer_counts, '115200000')
  end
end
