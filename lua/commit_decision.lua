#!lua
--[[
commit_decision: close a plan: take its quotas or none of them, append the audit entry, answer.

One script, because all that it decides is decided in one step; what plain quotas do not need is made only where it is needed.

KEYS[1]       caller_key      hash; the key's record: gone = revoked
KEYS[2]       agent           hash; the agent's record with its version token
KEYS[3]       commits         hash; what the last commit left: sequence, time_us, skew_us; and the version tokens of the
                              workspace's policies and of each group's
KEYS[4]       audit_stream    stream; id = <sequence>-0
KEYS[4+i]     quota           list; times of admitted calls (us, quota time), newest first; of a budget `<time> <spent>`,
                              spent = all that was ever taken, in millionths and modulo 2^52, and last the newest
                              entry that has left the window, or `0 0`. Of a sequence rule no list but session_marks or
                              agent_marks of the session that it looks back on. After them, for each quota with a
                              bucket, the rule's live buckets of this agent: sorted set; score = when a bucket's
                              window is over
KEYS[#KEYS]   session_marks   hash; only with marks, like the next: mark -> when the session was allowed, by whichever
                              agent, what it stands for (us, quota time)
KEYS[#KEYS]   agent_marks     hash; the same of this agent alone. After it, for each of `marks`, the sessions in which
                              the agent has left it: sorted set; score = until when it counts
KEYS[#KEYS]   taken           string; only with a refundable quota: what the call took of those, a line each: time, amount
                              (- = a call), key
KEYS[#KEYS]   approval        hash; only with an approval_step, like the next six: the approval that it is about
KEYS[#KEYS]   approval_call   string; id of the approval that this very call has now
KEYS[#KEYS]   approvals       sorted set; every approval, by id
KEYS[#KEYS]   open            sorted set; approvals that can still be decided or used, by the ms at which that ends
KEYS[#KEYS]   agent_open      the same of this agent
KEYS[#KEYS]   events          stream; what became of approvals, for those who wait
KEYS[#KEYS]   asker           hash; the record of the key that asked for `approval`: gone = revoked
KEYS[#KEYS]   answer_counts   hash; only with a body_digest, like the next: how many first answers the key has, in each of
                              the last four-hour slots: slot modulo 8 -> `<slot> <count>`
KEYS[#KEYS]   first_answer    hash; only with a body_digest: the answer that this idempotency key got before

ARGV[1]       now_us          store time, us since the epoch; "" = the server's clock (production)
ARGV[2]       arrived_us      store time at which the request arrived, as the replica estimates it
ARGV[3]       waited_us       how long the request has been with the replica, by the replica's own clock
ARGV[4]       decision_id     echoed in the reply
ARGV[5]       action          of the entry
ARGV[6]       parameters      of the entry: JSON, passed through as bytes
ARGV[7]       context         of the entry: JSON that the caller vouches for; "" = none
ARGV[8]       body_digest     with an idempotency key: how many first answers the API key may have, and MACs of what is
                              asked, the newest first, with a space between them; "" = without
ARGV[9]       tool_name       of the entry
ARGV[10]      holds_from_us   the plan holds at store times in
ARGV[11]      holds_until_us  [holds_from_us, holds_until_us); "" = always
ARGV[12]      version         version token of the agent that the plan was made from
ARGV[13]      shared_version  the same of the workspace and of each of the agent's groups, with a space between them;
                              none = without policies
ARGV[14]      group_fields    fields of `commits` with the groups' tokens, with a space between them
ARGV[15]      backlog_max     entries the stream may hold unsealed
ARGV[16]      patience_us     how long the replica waits for the reply: no answer takes longer from here
                              "" = decide and write nothing
ARGV[17]      agent_id        of the entry
ARGV[18]      key_id          of the entry
ARGV[19]      result          outcome if every quota has room: allowed, denied, escalated
ARGV[20]      policy_id       "" = none
ARGV[21]      rule            "<index> <type>", with " v<version>" of its policy if that is known; "" = none
ARGV[22]      reason          a sentence
ARGV[16+7i]   max_calls       quota i: calls in the window; of a budget, millionths
ARGV[17+7i]   window_us       quota i: us
ARGV[18+7i]   takes           quota i: "" = one call of the rule's one bucket; else `<amount> <bucket>`: millionths of a
                              budget, none = one call; its name among the rule's live buckets, none = the only one.
                              Of a sequence rule `after <mark> …` = full while one of them is there that is younger
                              than window_us; `before <mark> …` = full while none is
ARGV[19+7i]   full_result     outcome if quota i is the first that is full
ARGV[20+7i]   full_policy_id
ARGV[21+7i]   full_rule
ARGV[22+7i]   full_reason
ARGV[#ARGV]   leaves          only with marks or a refundable quota: what the call leaves if it is allowed: `<numbers>
                              <session> <mark> <us> <us> …`: the refundable quotas, a comma between two; what the
                              session is called where it is live; for how long the mark counts in session_marks and in
                              agent_marks, 0 = it is not left there; - = none of these
ARGV[#ARGV]   approval_step   only where a person may be asked: ask = make an approval, attach = to the pending one,
                              use = the approved one, probe = say `escalates` and write nothing; this and what follows
ARGV[#ARGV]   approval_id     of `approval`
ARGV[#ARGV]   held_id         what approval_call was when the replica read it; "" = nothing
ARGV[#ARGV]   held_version    version of `approval` when the replica read it; 0 = there is none
ARGV[#ARGV]   expected_full   numbers of the full quotas that the step counts with, a space after each
ARGV[#ARGV]   lasts_ms        ask: how long it can be decided
ARGV[#ARGV]   required        ask: how many people must approve
ARGV[#ARGV]   valid_ms        ask: how long a yes can be used
ARGV[#ARGV]   max_uses        ask: for how many calls
ARGV[#ARGV]   rules           ask: fingerprints of the rules that escalate
ARGV[#ARGV]   policies        ask: ids of their policies
ARGV[#ARGV]   bound           ask: JSON list of the paths of the context that are bound
ARGV[#ARGV]   hides           ask: "1" = a person does not see all that is bound
ARGV[#ARGV]   digest          ask: MAC of the call
ARGV[#ARGV]   agent_max       ask: approvals that an agent may have open
ARGV[#ARGV]   workspace_max   ask: approvals that the workspace may have open

RETURNS       {status, decision_id, time_us, latency_us, full, retry_us, approval}
  committed   the entry is in the log; full = first quota without room, 0 = none, negative = its rule has too many
              live buckets, quotas + 1 = a mark counts in too many sessions of the agent; retry_us until every
              full quota has room again, 0 = none is full, one never will, or the result is the same with room;
              approval = "", or "<what became of it> <when that ends, ms>": asked, attached, used, refused
  explained   the same for what would be committed, without patience_us; nothing written
  revoked     the caller's key is gone; nothing written
  expired     the caller's key has expired; nothing written
  stale       the agent is gone, or a version token is another; nothing written
  moved       store time is outside the interval in which the plan holds; nothing written
  backlog     the stream is at backlog_max; nothing written
  repeated    first_answer holds the answer to the same question; nothing written
  conflict    first_answer holds the answer to another question; nothing written
  crowded     the API key has as many first answers as it may have; nothing written
  outdated    first_answer holds an answer from other version tokens than these; nothing written
  escalates   a person must be asked, and the approval_step does not fit that; nothing written,
              approval = numbers of the full quotas, a space after each
  overtaken   the call's approval is not as the replica read it; nothing written
  ended       since the call's approval was asked for, the agent was not active or the key that asked was revoked;
              nothing written
WRITES        entry, commits; if allowed the call in every quota, taken and its marks; last use of the key once a second;
              first_answer for 24 hours; approval and the sets that it stands in
TIME          O(Q log N), Q quotas of N live entries; O(1) each while max_calls stays as it is and few entries expire
HOLDS         I2 no decision without its entry, I3 quotas all or nothing, I4 a call not allowed costs
              nothing, I7 a revoked key gets no decision, I8 an acknowledged change binds, I14 an approval is of
              one call, used as often as it says, I15 a session's past is what it was allowed
]]
local call = redis.call
local caller_key, agent, commits, audit_stream = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local arrived_us, waited_us = tonumber(ARGV[2]), tonumber(ARGV[3])
local decision_id, action, parameters, context, body_digest = ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8]
local tool_name, holds_from_us, holds_until_us = ARGV[9], ARGV[10], ARGV[11]
local version, shared_version, group_fields = ARGV[12], ARGV[13], ARGV[14]
local backlog_max, patience_us = tonumber(ARGV[15]), tonumber(ARGV[16])
local agent_id, key_id = ARGV[17], ARGV[18]
local result, policy_id, rule, reason = ARGV[19], ARGV[20], ARGV[21], ARGV[22]
local first_answer, answer_counts = body_digest ~= '' and KEYS[#KEYS], KEYS[#KEYS - 1]
local parts = (#ARGV - 22) % 7
local with_approval, leaves = parts >= 2, parts % 2
local quotas = (#ARGV - 22 - (with_approval and 16 or 0) - leaves) / 7
local last_key = #KEYS - (first_answer and 2 or 0)
local last_quota_key = last_key - (with_approval and 7 or 0) - leaves
assert(parts <= 3 and quotas >= 0 and last_quota_key >= 4 + quotas, 'ARITY')
local approval, approval_call, approvals, open, agent_open, events, asker
local step, approval_id, held_id, held_version, expected_full, lasts_ms, required, valid_ms, max_uses, rules, policies,
  bound, hides, digest, agent_max, workspace_max
if with_approval then
  approval, approval_call, approvals, open, agent_open, events, asker = unpack(KEYS, last_key - 6)
  step, approval_id, held_id, held_version, expected_full, lasts_ms, required, valid_ms, max_uses, rules, policies,
    bound, hides, digest, agent_max, workspace_max = unpack(ARGV, 23 + 7 * quotas + leaves)
end

local time_us = tonumber(ARGV[1])
if not time_us then
  local clock = call('TIME')
  time_us = clock[1] * 1000000 + clock[2]
end
-- Numbers above 2^46 go out through %.0f alone: tostring and redis.call may write them as 1.7e+15.
local time_text = string.format('%.0f', time_us)
local time_ms = math.floor(time_us / 1000)
local time_ms_text = time_ms > 0 and string.sub(time_text, 1, -4) or '0'

local all_full
local function refuse(status)
  return {status, decision_id, time_text, 0, 0, 0, all_full or ''}
end

local key = call('HMGET', caller_key, 'created_ms', 'expires_ms', 'last_used_ms')
if not key[1] then return refuse('revoked') end
if key[2] and time_ms >= tonumber(key[2]) then return refuse('expired') end
if call('HGET', agent, 'version') ~= version then return refuse('stale') end
local last, shared
if group_fields == '' then
  last = call('HMGET', commits, 'sequence', 'time_us', 'skew_us', 'workspace')
  shared = last[4] or ''
else
  local fields = {'sequence', 'time_us', 'skew_us', 'workspace'}
  for field in string.gmatch(group_fields, '%S+') do fields[#fields + 1] = field end
  last = call('HMGET', commits, unpack(fields))
  shared = last[4] or ''
  for i = 5, #fields do shared = shared .. ' ' .. (last[i] or '') end
end
if shared ~= shared_version then return refuse('stale') end
if first_answer then
  local first = call('HMGET', first_answer, 'body_digest', 'version', 'shared_version')
  if first[1] and not string.find(body_digest, first[1], 1, true) then return refuse('conflict') end
  -- What was allowed then may be forbidden now: never a stale yes, and never a second call in a quota.
  if first[1] and (first[2] ~= version or first[3] ~= shared_version) then return refuse('outdated') end
  if first[1] then return refuse('repeated') end
end
local slot, answers_in_slot
if first_answer then
  slot, answers_in_slot = math.floor(time_ms / 14400000), 0
  local answers = 0
  -- Seven slots, of which the last has begun: all of a day, and up to four hours more.
  for _, held in ipairs(call('HMGET', answer_counts, '0', '1', '2', '3', '4', '5', '6', '7')) do
    local counted_slot, count = string.match(held or '', '^(%d+) (%d+)$')
    if counted_slot and slot - tonumber(counted_slot) < 7 then answers = answers + tonumber(count) end
    if tonumber(counted_slot) == slot then answers_in_slot = tonumber(count) end
  end
  if answers >= tonumber(string.match(body_digest, '^%d+')) then return refuse('crowded') end
end
if holds_until_us ~= '' and (time_us < tonumber(holds_from_us) or time_us >= tonumber(holds_until_us)) then
  return refuse('moved')
end
if call('XLEN', audit_stream) >= backlog_max then return refuse('backlog') end

-- Quota time never runs backwards: when the server's clock steps back, quota time goes on from where it was.
-- Otherwise a full quota would stay full until the clock had made up for the step (decision 0003).
local skew_us = tonumber(last[3] or 0)
local behind_us = tonumber(last[2] or 0) - time_us
if behind_us > 0 then skew_us = skew_us + behind_us end
local quota_us = time_us + skew_us

-- How long until one more of `most` may be live: 0 = it may, or it is. Made only if there is something of the kind.
local live_wait = last_key > 4 + quotas and function(place, name, most)
  local until_us = call('ZSCORE', KEYS[place], name)
  if until_us and tonumber(until_us) > quota_us then return 0 end
  local after = '(' .. string.format('%.0f', quota_us)
  if call('ZCOUNT', KEYS[place], after, '+inf') < most then return 0 end
  return tonumber(call('ZRANGEBYSCORE', KEYS[place], after, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]) - quota_us
end

local full, crowded, retry_us, lives = 0, false, 0, 4 + quotas
local budgets, varying_wait
for i = 1, quotas do
  local at = 16 + 7 * i
  local max_calls, window_us, takes = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), ARGV[at + 2]
  local wait, no_bucket = 0, false
  if takes == '' then
    -- With LLEN in place of this element, lowering max_calls would admit too many.
    local oldest = call('LINDEX', KEYS[4 + i], max_calls - 1)
    -- Closed at the old end: a call admitted exactly one window ago no longer counts.
    if oldest then wait = tonumber(oldest) + window_us - quota_us end
  elseif string.find(takes, '^%l') then
    local names, latest_us = {}, -window_us
    for name in string.gmatch(takes, ' (%x+)') do names[#names + 1] = name end
    for _, marked_us in ipairs(call('HMGET', KEYS[4 + i], unpack(names))) do
      latest_us = math.max(latest_us, tonumber(marked_us or latest_us))
    end
    wait = latest_us + window_us - quota_us
    if string.find(takes, '^before') then wait = wait > 0 and 0 or math.huge end
  else
    if not varying_wait then
      -- Made for the first quota that needs it, so that no other pays for it.
      -- A budget's totals are compared modulo 2^52: its window never holds so much.
      local TOTALS, LIVE_MAX = 4503599627370496, 10000
      budgets = {}

      local function entry_of(quota, index)
        local time, total = string.match(call('LINDEX', quota, index), '^(%d+) (%d+)$')
        return tonumber(time), tonumber(total)
      end

      local function total_of(quota, index)
        local _, total = entry_of(quota, index)
        return total
      end

      -- The place of the first of entries 0 to `last` for which `holds`; it holds for the last one, and for all after
      -- the first. From the old end, by steps that double: it is mostly there.
      local function first_that(quota, last, holds)
        local found, fails, step = last, -1, 1
        while found > 0 do
          local probe = math.max(0, found - step)
          if not holds(entry_of(quota, probe)) then
            fails = probe
            break
          end
          found, step = probe, step * 2
        end
        while found - fails > 1 do
          local middle = math.floor((found + fails) / 2)
          if holds(entry_of(quota, middle)) then found = middle else fails = middle end
        end
        return found
      end

      -- How long until the amount fits into the budget: 0 = it does, math.huge = it never will.
      local function budget_wait(n, quota, max, span_us, amount)
        local length, newest, oldest, live = call('LLEN', quota), 0, 0, 0
        if length > 0 then
          live = first_that(quota, length - 1, function(time) return time + span_us <= quota_us end)
          newest, oldest = total_of(quota, 0), total_of(quota, live)
        end
        budgets[n] = {amount = amount, total = (newest + amount) % TOTALS, spare = length - 1 - live, length = length}
        if amount > max then return math.huge end
        local leaves
        if (newest - oldest) % TOTALS + amount > max then
          -- The newest of the entries that must leave before there is room.
          local function too_much(_, total) return (newest - total) % TOTALS + amount > max end
          leaves = first_that(quota, live, too_much) - 1
        elseif amount > 0 and live >= LIVE_MAX then
          leaves = live - 1
        end
        return leaves and entry_of(quota, leaves) + span_us - quota_us or 0
      end

      varying_wait = function(n, max, span_us, amount, bucket)
        local for_bucket, for_room = 0, 0
        if bucket ~= '' then
          lives = lives + 1
          for_bucket = live_wait(lives, bucket, LIVE_MAX)
        end
        if amount ~= '' then
          for_room = budget_wait(n, KEYS[4 + n], max, span_us, tonumber(amount))
        else
          local oldest = call('LINDEX', KEYS[4 + n], max - 1)
          if oldest then for_room = tonumber(oldest) + span_us - quota_us end
        end
        return math.max(for_bucket, for_room), for_bucket > 0
      end
    end
    wait, no_bucket = varying_wait(i, max_calls, window_us, string.match(takes, '^(%d*) (%x*)$'))
  end
  if wait > 0 then
    if full == 0 then full, crowded = i, no_bucket end
    all_full = (all_full or '') .. i .. ' '
    if wait > retry_us then retry_us = wait end
  end
end
if retry_us == math.huge then retry_us = 0 end

if full > 0 then
  local at, otherwise = 19 + 7 * full, result
  result, policy_id, rule, reason = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  -- Where the answer would be the same with room in every quota, waiting changes nothing.
  if result == otherwise then retry_us = 0 end
  if crowded then reason = 'This limit counts 10000 different values for the agent already' end
end

-- A mark that there is no room for is a call that cannot be allowed: those that come after would not be held against it.
local marks, session, session_marks, agent_marks, taken, refundable
if leaves == 1 and result == 'allowed' then
  local place, marks_text = last_key - (with_approval and 7 or 0)
  refundable, session, marks_text = string.match(ARGV[23 + 7 * quotas], '^(%S+) (%S+)(.*)$')
  if refundable ~= '-' then
    taken, place = KEYS[place], place - 1
    call('STRLEN', taken)
  end
  marks = {}
  for mark, shared_us, own_us in string.gmatch(marks_text, ' (%x+) (%d+) (%d+)') do
    marks[#marks + 1] = {mark, tonumber(shared_us), tonumber(own_us)}
  end
  for n = #marks, 1, -1 do
    marks[n].place = place
    retry_us = math.max(retry_us, live_wait(place, session, 1000))
    place = place - 1
  end
  if session == '-' then
    marks = nil
  else
    session_marks, agent_marks = KEYS[place - 1], KEYS[place]
    -- Scripts do not roll back: keys of another type must be errors before the first write.
    call('HLEN', session_marks)
    call('HLEN', agent_marks)
  end
  if retry_us > 0 then
    full, marks, taken = quotas + 1, nil, nil
    result, policy_id, rule = 'denied', '', ''
    reason = 'Sequence rules look back on 1000 sessions of the agent already'
  end
end

local became, ends_ms = '', ''
if with_approval and result == 'escalated'
    and (step == 'use' or step == 'probe' or (all_full or '') ~= expected_full) then
  return refuse('escalates')
end
if with_approval and result ~= 'denied' and step ~= 'probe' then
  local held = call('HMGET', approval, 'version', 'status', 'expires_ms', 'usable_until_ms', 'asked_sequence')
  if (call('GET', approval_call) or '') ~= held_id or (held[1] or '0') ~= held_version then
    return refuse('overtaken')
  end
  if step ~= 'ask' then
    -- Who suspends an agent or revokes a key leaves no old yes behind, nor a question that could become one.
    local ended_until = tonumber(call('HGET', agent, 'approvals_ended') or -1)
    if call('HEXISTS', asker, 'created_ms') == 0 or tonumber(held[5] or 0) <= ended_until then
      return refuse('ended')
    end
  end
  if step == 'use' then
    if held[2] ~= 'approved' or time_ms >= tonumber(held[4]) then return refuse('overtaken') end
    became, ends_ms = 'used', held[4]
  elseif result == 'escalated' then
    if step == 'attach' then
      if held[2] ~= 'pending' or time_ms >= tonumber(held[3]) then return refuse('overtaken') end
      became, ends_ms = 'attached', held[3]
    elseif call('ZCARD', agent_open) >= tonumber(agent_max) or call('ZCARD', open) >= tonumber(workspace_max) then
      result, became, reason = 'denied', 'refused', 'Too many approvals wait for people already; ' .. reason
    else
      became, ends_ms = 'asked', string.format('%.0f', time_ms + tonumber(lasts_ms))
    end
  end
  -- Scripts do not roll back: keys of another type must be errors before the first write.
  call('ZCARD', open)
  call('ZCARD', agent_open)
  call('ZCARD', approvals)
  call('XLEN', events)
end
local approval_text = became == '' and '' or became .. ' ' .. ends_ms
if not patience_us then
  return {'explained', decision_id, time_text, 0, crowded and -full or full, math.ceil(retry_us), approval_text}
end
-- The clock may have stepped since the replica last heard of it: what the replica measured bounds the latency.
local latency_us = math.max(waited_us, time_us - arrived_us)
if latency_us > waited_us + patience_us then latency_us = waited_us end
local sequence = tostring(tonumber(last[1] or 0) + 1)

-- Fields that only some entries have; app/audit/entry_format.py knows them.
local extras = {}
if context ~= '' then extras = {'context', context} end
local versionless, policy_version = string.match(rule, '^(.+) v(%d+)$')
if policy_version then
  rule = versionless
  extras[#extras + 1] = 'policyVersion'
  extras[#extras + 1] = policy_version
end
local has_approval = became ~= '' and became ~= 'refused'
if has_approval then
  extras[#extras + 1] = 'approvalId'
  extras[#extras + 1] = approval_id
end
-- First among the writes, because scripts do not roll back: if this fails, nothing has happened.
call('XADD', audit_stream, sequence .. '-0',
  'id', decision_id, 'timeMs', time_ms_text, 'agentId', agent_id, 'keyId', key_id,
  'action', action, 'toolName', tool_name, 'parameters', parameters, 'result', result,
  'policyId', policy_id, 'rule', rule, 'reason', reason, 'latencyUs', string.format('%.0f', latency_us),
  unpack(extras))
call('HSET', commits, 'sequence', sequence, 'time_us', time_text)
if behind_us > 0 then call('HSET', commits, 'skew_us', string.format('%.0f', skew_us)) end

if result == 'allowed' and quotas > 0 then
  local quota_text = skew_us == 0 and time_text or string.format('%.0f', quota_us)
  lives = 4 + quotas
  for i = 1, quotas do
    local at = 16 + 7 * i
    local quota, window_us, takes, budget = KEYS[4 + i], tonumber(ARGV[at + 1]), ARGV[at + 2], budgets and budgets[i]
    local looks_back = string.find(takes, '^%l')
    -- In a century: a clock that runs ahead for a moment would take a quota that still counts (decision 0003).
    local life_ms = '3153600000000'
    local bucket = takes ~= '' and string.match(takes, '^%d* (%x*)$') or ''
    if bucket ~= '' then
      -- Of these there may be very many, so they go by the store's timer, with a window in hand.
      lives = lives + 1
      life_ms = tostring(math.ceil(window_us / 1000) * 2 + 1000)
      call('ZADD', KEYS[lives], string.format('%.0f', quota_us + window_us), bucket)
      for _, over in ipairs(call('ZRANGEBYSCORE', KEYS[lives], '-inf', quota_text, 'LIMIT', 0, 2)) do
        call('ZREM', KEYS[lives], over)
      end
      call('PEXPIRE', KEYS[lives], life_ms)
    end
    if not budget and not looks_back then
      local length = call('LPUSH', quota, quota_text)
      -- Only times that have left the window go, two for each call, and never by count: raising max_calls stays exact.
      if length % 8 == 0 then
        for _ = 1, 16 do
          if tonumber(call('LINDEX', quota, -1)) > quota_us - window_us then break end
          call('RPOP', quota)
        end
      end
      call('PEXPIRE', quota, life_ms)
    elseif budget and budget.amount > 0 then
      if budget.length == 0 then call('LPUSH', quota, '0 0') end
      call('LPUSH', quota, quota_text .. ' ' .. string.format('%.0f', budget.total))
      if budget.spare > 0 then call('RPOP', quota, math.min(64, budget.spare)) end
      call('PEXPIRE', quota, life_ms)
    end
  end
end
if taken then
  local lines, quota_text = {}, string.format('%.0f', quota_us)
  for number in string.gmatch(refundable, '%d+') do
    local amount = string.match(ARGV[18 + 7 * number], '^%d+') or '-'
    lines[#lines + 1] = quota_text .. ' ' .. amount .. ' ' .. KEYS[4 + number]
  end
  call('SET', taken, table.concat(lines, '\n'), 'PX', '86400000')
end
if marks then
  local quota_text, shared_longest_us, own_longest_us = string.format('%.0f', quota_us), 0, 0
  -- By the store's timer, with as long again in hand; what is there for longer stays for longer.
  local function keep(place, counts_us)
    local life_ms = math.ceil(counts_us / 1000) * 2 + 1000
    if counts_us > 0 and call('PTTL', KEYS[place]) < life_ms then
      call('PEXPIRE', KEYS[place], string.format('%.0f', life_ms))
    end
  end
  for _, mark in ipairs(marks) do
    local name, shared_us, own_us, place = mark[1], mark[2], mark[3], mark.place
    if shared_us > 0 then call('HSET', session_marks, name, quota_text) end
    if own_us > 0 then call('HSET', agent_marks, name, quota_text) end
    shared_longest_us, own_longest_us = math.max(shared_longest_us, shared_us), math.max(own_longest_us, own_us)
    local counts_us = math.max(shared_us, own_us)
    call('ZADD', KEYS[place], string.format('%.0f', quota_us + counts_us), session)
    for _, over in ipairs(call('ZRANGEBYSCORE', KEYS[place], '-inf', quota_text, 'LIMIT', 0, 2)) do
      call('ZREM', KEYS[place], over)
    end
    keep(place, counts_us)
  end
  keep(marks[1].place - 2, shared_longest_us)
  keep(marks[1].place - 1, own_longest_us)
end
if became == 'asked' then
  call('HSET', approval, 'status', 'pending', 'version', '1', 'agent_id', agent_id, 'tool_name', tool_name,
    'action', action, 'parameters', parameters, 'context', context, 'bound', bound, 'hides', hides,
    'digest', digest, 'policy_id', policy_id, 'rule', rule, 'reason', reason, 'key_id', key_id,
    'key_name', call('HGET', caller_key, 'name'), 'requests', '1', 'required', required, 'valid_ms', valid_ms,
    'max_uses', max_uses, 'rules', rules, 'policies', policies, 'asked_sequence', sequence,
    'created_ms', time_ms_text, 'expires_ms', ends_ms, 'decisions', decision_id)
  call('SET', approval_call, approval_id)
  call('ZADD', approvals, '0', approval_id)
  call('ZADD', open, ends_ms, approval_id)
  call('ZADD', agent_open, ends_ms, approval_id)
  call('XADD', events, 'MAXLEN', '~', '10000', '*', 'id', approval_id, 'status', 'pending')
elseif became == 'attached' or became == 'used' then
  local decisions = call('HGET', approval, 'decisions')
  if #decisions < 3700 then call('HSET', approval, 'decisions', decisions .. ' ' .. decision_id) end
  if became == 'attached' then call('HINCRBY', approval, 'requests', '1') end
end
if became == 'used' then
  call('HINCRBY', approval, 'version', '1')
  if call('HINCRBY', approval, 'uses_left', '-1') == 0 then
    call('HSET', approval, 'status', 'consumed')
    call('ZREM', open, approval_id)
    call('ZREM', agent_open, approval_id)
    call('DEL', approval_call)
    call('PEXPIRE', approval, '2592000000')
    call('XADD', events, 'MAXLEN', '~', '10000', '*', 'id', approval_id, 'status', 'consumed')
  end
end
if first_answer then
  call('HSET', first_answer, 'body_digest', string.match(body_digest, '^%d+ (%S+)'), 'version', version, 'shared_version', shared_version,
    'id', decision_id, 'result', result, 'policyId', policy_id, 'rule', rule, 'reason', reason,
    'timeUs', time_text, 'latencyUs', string.format('%.0f', latency_us), 'retryUs',
    string.format('%.0f', math.ceil(retry_us)))
  if has_approval then call('HSET', first_answer, 'approvalId', approval_id) end
  call('PEXPIRE', first_answer, '86400000')
  call('HSET', answer_counts, tostring(slot % 8), string.format('%d %d', slot, answers_in_slot + 1))
  call('PEXPIRE', answer_counts, '115200000')
end
local since_ms = time_ms - tonumber(key[3] or 0)
if since_ms >= 1000 or since_ms < 0 then
  call('HSET', caller_key, 'last_used_ms', time_ms_text)
end
return {'committed', decision_id, time_text, latency_us, crowded and -full or full, math.ceil(retry_us), approval_text}
