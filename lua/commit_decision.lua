#!lua
--[[
commit_decision: turn a plan into a decision: take all of its quotas or none, append the audit entry, return the answer.

It is one script, so that nothing can change between its checks and its writes. As it stands it serves plain calls: rate
limits with one bucket each, no approval, no Idempotency-Key. What other calls need is in parts, one file each in
lua/commit_decision/. A part's sections replace the lines `--@ <section>` below, in the order of PARTS; the script with
all parts is commit_with_parts. To add a part, write its file, name it in PARTS, and add it to the calls that need it in
app/authorize/commit/arguments.py.

PARTS         parts codes groups interval keyed_batches first_answers limits marks sequences refunds approvals
              remembered records breakers shadow explained

KEYS[1]       caller_key      hash; record of the caller's API key; missing = revoked
KEYS[2]       agent           hash; the agent's record with its version token
KEYS[3]       commits         hash; state of the last commit: sequence, time_us, skew_us and the `backlog` field; also the
                              version tokens of the workspace's and of each group's policies
KEYS[4]       audit_stream    stream; id = <sequence>-0
KEYS[4+i]     quota           list; times of admitted calls (us of quota time), newest first

ARGV[1]       arrived_us      store time at which the request arrived, estimated by the replica
ARGV[2]       waited_us       time since the request arrived, by the replica's own clock. Tests add a space and the store
                              time, us since the epoch, which is then used in place of the server's clock
ARGV[3]       decision_id     echoed in the reply
ARGV[4]       action          of the entry
ARGV[5]       parameters      of the entry: JSON, passed through as bytes
ARGV[6]       context         of the entry: JSON that the caller vouches for; "" = none
ARGV[7]       reason          a sentence
ARGV[8]       tool_name       of the entry
ARGV[9]       versions        that the plan was made from: the agent's version token, a space, and the token of the
                              policies for every agent, which is empty if there are none
ARGV[10]      agent_id        of the entry
ARGV[11]      result          outcome if every quota has room: allowed, denied, escalated
ARGV[12]      policy          its id, and, if known, a space and its version; "" = none
ARGV[13]      rule            "<index> <type>"; "" = none
ARGV[14]      backlog         `room:<entries that the stream may hold unsealed>`: the field of `commits` that holds the
                              last sequence number for which there is certainly room in the first half
ARGV[15]      patience_us     how long the replica waits for the reply; an upper bound for the time from now to the answer
ARGV[16]      logged_as       key_id of the entry; of a workload's token, also a space and its subject
ARGV[11+6i]   newest_spared   quota i: maximum less one: quota i is full while the call at this index is in the window
ARGV[12+6i]   window_us       quota i: length of the window; more than a century = it never ends
ARGV[13+6i]   full_result     outcome if quota i is the first full one
ARGV[14+6i]   full_policy
ARGV[15+6i]   full_rule
ARGV[16+6i]   full_reason

STATE         what is known about the call so far; parts tell each other, and the script, nothing in any other way
  status      of the reply; with any but `committed`, nothing is written
  result, policy, rule, reason: the outcome
  code        of the outcome; nil = the one that follows from result and rule
  full, retry_us, crowded, approval: of the reply
  custom      i -> what a part says about quota i if it is more than a list of call times, or something else: `wait`, the
              time until the part sees room in it; `counts_calls`, true if its list holds call times, as a plain quota's
              does; `ends`, the marks that the call uses up
  takes       true = the call is taken from quotas although it is not allowed
  extras      names and values of the fields that only some entries have: those of `AuditEntry` that can be UNSET
  approval_id of the entry
  approved_ms: when people had approved it, if it is used
  read        what rules read of records, a JSON array; nil = none did
  read_aside  the same for rules of shadow policies alone
  shared_version: the version tokens of all policies that the agent shares with others

RETURNS       {status, decision_id, time_us, latency_us, full, retry_us}
  committed   the entry is in the log; full = number of the first full quota, 0 = none; retry_us = time until all full
              quotas whose outcome differs have room again, 0 = there are none, room never comes, or it would not change
              the result
  revoked     the caller's key is gone; nothing written
  expired     the caller's key has expired; nothing written
  stale       the agent is gone, or a version token has changed; nothing written
  backlog     the stream holds as many entries as it may, or half of them, and the caller wrote most of the newest;
              nothing written
WRITES        entry, commits; if allowed, the call in every quota; the key's last use, once a second
TIME          O(Q log N), Q quotas of N live entries; O(1) for each quota while its maximum stays the same and few
              entries expire
HOLDS         I2 no decision without its entry, I3 quotas all or nothing, I4 a call that is not allowed costs nothing,
              I7 a revoked key gets no decision, I8 an acknowledged change binds
]]
local call, EXACT = redis.call, 2 ^ 53
local caller_key, agent, commits, audit_stream = unpack(KEYS, 1, 4)
local arrived_us, waited, decision_id, action, parameters, context, reason, tool_name, versions, agent_id,
  result, policy, rule, backlog, patience_us, logged_as = unpack(ARGV, 1, 16)
-- Quota i: its key, the index of the newest call that it spares, and its window.
local function quota_at(i) return KEYS[4 + i], ARGV[11 + 6 * i], ARGV[12 + 6 * i] end
local last_key, last_arg = #KEYS, #ARGV
--@ names: the part's keys and arguments, which come after the quotas', and what it keeps from section to section
local quotas = last_key - 4
assert(quotas >= 0 and last_arg == 16 + 6 * quotas, 'ARITY')

local time_us, time_text, waited_us = nil, nil, tonumber(waited)
if waited_us then
  local clock = call('TIME')
  time_us, time_text = clock[1] * 1000000 + clock[2], clock[1] .. string.sub('00000' .. clock[2], -6)
else
  waited_us, time_text = string.match(waited, '^(%d+) (%d+)$')
  waited_us, time_us = tonumber(waited_us), tonumber(time_text)
end
local time_ms = math.floor(time_us / 1000)
local time_ms_text = time_ms > 0 and string.sub(time_text, 1, -4) or '0'
local key = call('HMGET', caller_key, 'created_ms', 'expires_ms', 'last_used_ms')
local last = call('HMGET', commits, 'sequence', 'time_us', 'skew_us', 'workspace', backlog)
local sequence = (last[1] or 0) + 1

-- From here on it is about one call: what is read above, its own arguments, and `state`.
local state = {status = 'committed', result = result, policy = policy, rule = rule, reason = reason,
  full = 0, retry_us = 0, extras = context == '' and {} or {'context', context},
  --@ state: fields that only parts use
}
local version = call('HGET', agent, 'version')
if not key[1] then
  state.status = 'revoked'
-- `not (a < b)`, so that what is no number (`nan` is no less than anything) refuses.
elseif key[2] and not (time_ms < tonumber(key[2])) then
  state.status = 'expired'
elseif not version or version .. ' ' .. (last[4] or '') ~= versions then
  state.status = 'stale'
end
--@ refuse: sets the status, unless the call is refused already, if the plan cannot be committed
-- The stream grows by one entry per sequence number: measured once, its room also tells up to which number it lasts.
local has_room_until
if state.status == 'committed' and not (sequence <= (tonumber(last[5]) or 0)) then
  local most, entries = tonumber(string.match(backlog, '%d+')), call('XLEN', audit_stream)
  local half = math.ceil(most / 2) - entries
  if half > 0 then
    has_room_until = string.format('%.0f', sequence + math.min(half, 1000) - 1)
  elseif entries >= most then
    state.status = 'backlog'
  else
    -- The other half is for callers who did not write most of the newest entries: nobody can take all of the room.
    local own = 0
    for _, entry in ipairs(call('XREVRANGE', audit_stream, '+', '-', 'COUNT', 8)) do
      local fields, id, subject = entry[2], '', ''
      for i = 1, #fields, 2 do
        if fields[i] == 'keyId' then id = fields[i + 1] end
        if fields[i] == 'subject' then subject = ' ' .. fields[i + 1] end
      end
      if id .. subject == logged_as then own = own + 1 end
    end
    if own >= 6 then state.status = 'backlog' end
  end
end
if state.status ~= 'committed' then
  return {state.status, decision_id, time_text, 0, 0, 0}
end

-- Quota time never runs backwards: when the server's clock steps back, quota time continues from where it was.
-- Otherwise a full quota would stay full until the clock had caught up (decision 0003).
local skew_us = tonumber(last[3] or 0)
local behind_us = (last[2] or 0) - time_us
if behind_us > 0 then skew_us = skew_us + behind_us end
local quota_us = time_us + skew_us
-- False also for `nan`, with which every window would be empty.
assert(quota_us >= time_us and quota_us < EXACT, 'The quota time is no time')

local full, retry_us = 0, 0
--@ wait: sets `custom` for quotas that are more than a list of call times, or something else
local custom = state.custom
for i = 1, quotas do
  local quota, newest_spared, window_us = quota_at(i)
  local own = custom and custom[i]
  local wait = own and own.wait or 0
  if not own or own.counts_calls then
    -- This element and not LLEN: after the maximum is lowered, LLEN would admit too many calls.
    local oldest = call('LINDEX', quota, newest_spared)
    -- Closed at the old end: a call admitted exactly one window ago no longer counts.
    if oldest then
      local left_us = oldest + window_us - (own and own.now_us or quota_us)
      assert(left_us > -EXACT and left_us < EXACT, 'A quota holds what is no time')
      if left_us > wait then wait = left_us end
    end
  end
  if wait > 0 then
    if full == 0 then full = i end
    -- Room in a quota that leaves the outcome as it is would not change the answer.
    local full_result, full_policy, full_rule = unpack(ARGV, 13 + 6 * i, 15 + 6 * i)
    local changes = full_result ~= result or full_policy ~= policy or full_rule ~= rule
    if changes and wait > retry_us then retry_us = wait end
    --@ full: notes that quota i is full
  end
end
if full > 0 then
  local full_result, full_policy, full_rule, full_reason = unpack(ARGV, 13 + 6 * full, 16 + 6 * full)
  state.result, state.policy, state.rule, state.reason = full_result, full_policy, full_rule, full_reason
  -- If the result would be the same with room in every quota, waiting changes nothing. Nor does it where room never comes:
  -- no window that ends lasts nine years.
  state.full, state.retry_us = full, full_result ~= result and retry_us < 2 ^ 48 and retry_us or 0
end
--@ judge: may change the outcome or refuse; reads every key that the part will write
-- The clock may have stepped since the replica last read it, so the replica's own measurements bound the latency.
local latency_us = time_us - arrived_us
if latency_us < waited_us or latency_us > waited_us + patience_us then latency_us = waited_us end
local reply = {state.status, decision_id, time_text, latency_us, state.full, state.retry_us}
--@ reply: adds what the part has to say, each with its name before it
if state.status ~= 'committed' then return reply end

local latency_text, sequence_text = string.format('%d', latency_us), string.format('%d', sequence)
result, policy, rule, reason = state.result, state.policy, state.rule, state.reason
local policy_id, versioned_at, extras = policy, string.find(policy, ' ', 1, true), state.extras
if versioned_at then
  policy_id = string.sub(policy, 1, versioned_at - 1)
  extras[#extras + 1], extras[#extras + 2] = 'policyVersion', string.sub(policy, versioned_at + 1)
end
local key_id, subject_at = logged_as, #logged_as > 36 and string.find(logged_as, ' ', 1, true)
if subject_at then
  key_id, extras[#extras + 1], extras[#extras + 2] = string.sub(logged_as, 1, subject_at - 1), 'subject',
    string.sub(logged_as, subject_at + 1)
end
--@ entry: adds to `extras`
-- The first write, because scripts do not roll back: if this one fails, nothing has changed.
call('XADD', audit_stream, sequence_text .. '-0',
  'id', decision_id, 'timeMs', time_ms_text, 'agentId', agent_id, 'keyId', key_id,
  'action', action, 'toolName', tool_name, 'parameters', parameters, 'result', result,
  'policyId', policy_id, 'rule', rule, 'reason', reason, 'latencyUs', latency_text,
  unpack(extras))
call('HSET', commits, 'sequence', sequence_text, 'time_us', time_text)
if has_room_until then call('HSET', commits, backlog, has_room_until) end
if behind_us > 0 then call('HSET', commits, 'skew_us', string.format('%.0f', skew_us)) end

-- Numbers above 2^46 go out as text or through a format: tostring and redis.call may write them as 1.7e+15.
local quota_text = skew_us == 0 and time_text or string.format('%.0f', quota_us)
if result == 'allowed' or state.takes then
  for i = 1, quotas do
    local quota, _, window_us = quota_at(i)
    local own = custom and custom[i]
    if not own or own.counts_calls then
      local length = call('LPUSH', quota, own and own.time or quota_text)
      -- Drop only times that have left the window, two per call; never by count, because the maximum may be raised later.
      if length % 8 == 0 then
        for _ = 1, 16 do
          local left_us = (own and own.now_us or quota_us) - window_us
          if (tonumber(call('LINDEX', quota, -1)) or 0) > left_us then break end
          call('RPOP', quota)
        end
      end
      -- Two centuries after it counts no more: no clock that runs ahead for a moment drops what still counts (0003).
      local until_us = own and own.until_us or quota_us + window_us
      call('PEXPIREAT', quota, string.format('%.0f', until_us / 1000 + 6307200000001))
    end
  end
end
--@ write: the part's own writes
local since_ms = time_ms - (tonumber(key[3]) or 0)
if not (since_ms >= 0 and since_ms < 1000) then
  call('HSET', caller_key, 'last_used_ms', time_ms_text)
end
return reply
