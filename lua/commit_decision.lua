#!lua
--[[
commit_decision: close a plan: take its quotas or none of them, append the audit entry, answer.

One script, because all that it decides is decided in one step. As it stands it is what a plain call runs: rate limits of
one bucket, nobody to ask, no Idempotency-Key. What other calls need are the parts in lua/commit_decision/, one file each:
their sections stand in place of the line `--@ <section>` here, in the order of PARTS, and the script with all of them is
commit_with_parts. A new part: a file, its name in PARTS, and what adds it to a call in app/authorize/commit.py.

PARTS         parts groups first_answers interval limits sequences marks refunds approvals breakers shadow explained

KEYS[1]       caller_key      hash; the key's record: gone = revoked
KEYS[2]       agent           hash; the agent's record with its version token
KEYS[3]       commits         hash; what the last commit left: sequence, time_us, skew_us, and the `backlog` field; and the
                              version tokens of the workspace's policies and of each group's
KEYS[4]       audit_stream    stream; id = <sequence>-0
KEYS[4+i]     quota           list; times of admitted calls (us, quota time), newest first

ARGV[1]       arrived_us      store time at which the request arrived, as the replica estimates it
ARGV[2]       waited_us       how long the request has been with the replica, by the replica's own clock. In tests a space
                              and the store's time come after it, us since the epoch, in place of the server's clock
ARGV[3]       decision_id     echoed in the reply
ARGV[4]       action          of the entry
ARGV[5]       parameters      of the entry: JSON, passed through as bytes
ARGV[6]       context         of the entry: JSON that the caller vouches for; "" = none
ARGV[7]       reason          a sentence
ARGV[8]       tool_name       of the entry
ARGV[9]       versions        that the plan was made from: the agent's version token, a space, and the one of the policies
                              for every agent; none = there are none
ARGV[10]      backlog         `room:<entries that the stream may hold unsealed>`: the field of `commits` with the sequence
                              up to which there is room for certain
ARGV[11]      patience_us     how long the replica waits for the reply: no answer takes longer from here
ARGV[12]      agent_id        of the entry
ARGV[13]      key_id          of the entry
ARGV[14]      result          outcome if every quota has room: allowed, denied, escalated
ARGV[15]      policy          id, with a space and its version after it if that is known; "" = none
ARGV[16]      rule            "<index> <type>", "" = none
ARGV[11+6i]   newest_spared   quota i: calls in the window less one: the place of the one that must have left it
ARGV[12+6i]   window_us       quota i: us
ARGV[13+6i]   full_result     outcome if quota i is the first that is full
ARGV[14+6i]   full_policy
ARGV[15+6i]   full_rule
ARGV[16+6i]   full_reason

RETURNS       {status, decision_id, time_us, latency_us, full, retry_us, approval}
  committed   the entry is in the log; full = first quota without room, 0 = none; retry_us until every full quota has room
              again, 0 = none is full, or the result is the same with room
  revoked     the caller's key is gone; nothing written
  expired     the caller's key has expired; nothing written
  stale       the agent is gone, or a version token is another; nothing written
  backlog     the stream holds as many entries as it may; nothing written
WRITES        entry, commits; if allowed the call in every quota; last use of the key once a second
TIME          O(Q log N), Q quotas of N live entries; O(1) each while the number of calls in a window stays as it is and
              few entries expire
HOLDS         I2 no decision without its entry, I3 quotas all or nothing, I4 a call not allowed costs
              nothing, I7 a revoked key gets no decision, I8 an acknowledged change binds
]]
local call = redis.call
local caller_key, agent, commits, audit_stream = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local arrived_us, waited_us, decision_id = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local action, parameters, context, reason = ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local tool_name, versions, backlog, patience_us = ARGV[8], ARGV[9], ARGV[10], ARGV[11]
local agent_id, key_id, result, policy, rule = ARGV[12], ARGV[13], ARGV[14], ARGV[15], ARGV[16]
local waited_at = ARGV[2]
local last_key, last_arg = #KEYS, #ARGV
--@ names: its keys and arguments, which come last
local quotas = last_key - 4
assert(quotas >= 0 and last_arg == 16 + 6 * quotas, 'ARITY')

local time_us, time_text
if waited_us then
  local clock = call('TIME')
  time_us, time_text = clock[1] * 1000000 + clock[2], clock[1] .. string.sub('00000' .. clock[2], -6)
else
  waited_us, time_text = string.match(waited_at, '^(%d+) (%d+)$')
  waited_us, time_us = tonumber(waited_us), tonumber(time_text)
end
local time_ms = math.floor(time_us / 1000)
local time_ms_text = time_ms > 0 and string.sub(time_text, 1, -4) or '0'

local key = call('HMGET', caller_key, 'created_ms', 'expires_ms', 'last_used_ms')
local version = call('HGET', agent, 'version')
local last = call('HMGET', commits, 'sequence', 'time_us', 'skew_us', 'workspace', backlog)
local sequence, refusal = (last[1] or 0) + 1, nil
if not key[1] then
  refusal = 'revoked'
elseif key[2] and time_ms >= tonumber(key[2]) then
  refusal = 'expired'
elseif not version or version .. ' ' .. (last[4] or '') ~= versions then
  refusal = 'stale'
end
--@ refuse: sets `refusal` where there is none, if the plan cannot be committed
-- The stream grows by one with each sequence number, so its room at one is known for as many to come.
local has_room_until
if not refusal and sequence > tonumber(last[5] or 0) then
  local room = tonumber(string.match(backlog, '%d+')) - call('XLEN', audit_stream)
  has_room_until = string.format('%.0f', sequence + math.min(room, 1000) - 1)
  if room <= 0 then refusal = 'backlog' end
end
if refusal then return {refusal, decision_id, time_text, 0, 0, 0, ''} end

-- Quota time never runs backwards: when the server's clock steps back, quota time goes on from where it was.
-- Otherwise a full quota would stay full until the clock had made up for the step (decision 0003).
local skew_us = tonumber(last[3] or 0)
local behind_us = (last[2] or 0) - time_us
if behind_us > 0 then skew_us = skew_us + behind_us end
local quota_us = time_us + skew_us

-- own: what a part knows of quota i: `wait` until it has room as far as the part can say, and whether it
-- `counts_calls`, in a list like any other's that has `life_ms`.
local full, retry_us, owns = 0, 0, nil
--@ wait: looks into quotas that are no list of calls, or not only
for i = 1, quotas do
  local at, own = 11 + 6 * i, owns and owns[i]
  local wait = own and own.wait or 0
  if not own or own.counts_calls then
    -- With LLEN in place of this element, lowering the number of calls would admit too many.
    local oldest = call('LINDEX', KEYS[4 + i], ARGV[at])
    -- Closed at the old end: a call admitted exactly one window ago no longer counts.
    if oldest then wait = math.max(wait, oldest + ARGV[at + 1] - quota_us) end
  end
  if wait > 0 then
    if full == 0 then full = i end
    if wait > retry_us then retry_us = wait end
    --@ full: takes note that quota i is full
  end
end

if full > 0 then
  local at, otherwise = 13 + 6 * full, result
  result, policy, rule, reason = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  -- Where the answer would be the same with room in every quota, waiting changes nothing.
  if result == otherwise then retry_us = 0 end
end
local approval_text = ''
--@ judge: may change the outcome, or return what refuses it; looks at every key that it will write
-- The clock may have stepped since the replica last heard of it: what the replica measured bounds the latency.
local latency_us = time_us - arrived_us
if latency_us < waited_us or latency_us > waited_us + patience_us then latency_us = waited_us end
local latency_text, sequence_text = string.format('%.0f', latency_us), string.format('%.0f', sequence)

-- Fields that only some entries have; app/audit/entry_format.py knows them.
local policy_id, versioned_at, extras = policy, string.find(policy, ' ', 1, true), nil
if versioned_at then
  policy_id = string.sub(policy, 1, versioned_at - 1)
  local policy_version = string.sub(policy, versioned_at + 1)
  extras = context == '' and {'policyVersion', policy_version} or {'context', context, 'policyVersion', policy_version}
else
  extras = context == '' and {} or {'context', context}
end
local takes = result == 'allowed'
--@ entry: adds to `extras`
-- First among the writes, because scripts do not roll back: if this fails, nothing has happened.
call('XADD', audit_stream, sequence_text .. '-0',
  'id', decision_id, 'timeMs', time_ms_text, 'agentId', agent_id, 'keyId', key_id,
  'action', action, 'toolName', tool_name, 'parameters', parameters, 'result', result,
  'policyId', policy_id, 'rule', rule, 'reason', reason, 'latencyUs', latency_text,
  unpack(extras))
call('HSET', commits, 'sequence', sequence_text, 'time_us', time_text)
if has_room_until then call('HSET', commits, backlog, has_room_until) end
if behind_us > 0 then call('HSET', commits, 'skew_us', string.format('%.0f', skew_us)) end

-- Numbers above 2^46 go out as text or through %.0f: tostring and redis.call may write them as 1.7e+15.
local quota_text = skew_us == 0 and time_text or string.format('%.0f', quota_us)
if takes then
  for i = 1, quotas do
    local quota, own = KEYS[4 + i], owns and owns[i]
    if not own or own.counts_calls then
      local length = call('LPUSH', quota, quota_text)
      -- Only times that have left the window go, two for each call, and never by count: more calls may be let in later.
      if length % 8 == 0 then
        for _ = 1, 16 do
          if tonumber(call('LINDEX', quota, -1)) > quota_us - ARGV[12 + 6 * i] then break end
          call('RPOP', quota)
        end
      end
      -- In a century: a clock that runs ahead for a moment would take a quota that still counts (decision 0003).
      call('PEXPIRE', quota, own and own.life_ms or '3153600000000')
    end
  end
end
--@ write: what the part leaves
local since_ms = time_ms - (key[3] or 0)
if since_ms >= 1000 or since_ms < 0 then
  call('HSET', caller_key, 'last_used_ms', time_ms_text)
end
return {'committed', decision_id, time_text, latency_us, full, retry_us, approval_text}
