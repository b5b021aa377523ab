#!lua flags=allow-oom
--[[
decide_approval: a person approves, denies or cancels an approval that waits, or withdraws one that was approved and has
uses left; the log records it in the same step.

KEYS[1]       caller_key      hash; record of the API key that decides; missing = revoked
KEYS[2]       approval        hash; the approval's record
KEYS[3]       commits         hash; `sequence` is that of the log's newest entry
KEYS[4]       audit_stream    stream; id = <sequence>-0
KEYS[5]       open            sorted set; approvals that can still be decided or used; score = ms at which that ends
KEYS[6]       agent_open      the same for the approval's agent
KEYS[7]       key_open        the same for the API key that asked
KEYS[8]       rule_open       the same for the first rule that asked about this agent
KEYS[9]       approval_call   string; id of the call's current approval
KEYS[10]      events          stream; changes of approvals, for clients that wait for them
KEYS[11]      agent           hash; record of the approval's agent
KEYS[12]      asker           hash; record of the API key that asked; missing = revoked
KEYS[12+i]    policy          hash; record of a policy with a rule that asked

ARGV[1]       now_us          store time, us since the epoch; "" = server's clock (production)
ARGV[2]       entry_id        id of the entry in the log
ARGV[3]       approval_id     of the record
ARGV[4]       key_id          id of the API key that decides
ARGV[5]       verdict         approved, denied, cancelled
ARGV[6]       note            JSON string
ARGV[7]       said            end of the reason in the log: the note as text, or ""
ARGV[8]       expected        version that the person has seen; "" = any
ARGV[9]       uses            maximum number of uses that this person grants; "" = the rules' maximum
ARGV[10]      valid_ms        maximum time for use that this person grants; "" = the rules' maximum
ARGV[11]      keep_ms         how long the record stays after the approval has ended
ARGV[12]      backlog_max     entries that the stream may have unsealed
ARGV[13]      agent_id        of the approval. This and what follows have not changed since it was asked for
ARGV[14]      tool_name
ARGV[15]      asked_by        id of the API key that asked
ARGV[16]      required        how many people must approve
ARGV[17]      max_uses        for how many calls, unless a person grants fewer
ARGV[18]      most_valid_ms   how long it can be used once approved, unless a person grants less
ARGV[19]      policy_id       of the policy whose rule asked
ARGV[20]      rule            that asked, "<index> <type>"
ARGV[21]      decided_by      JSON of who decides, for the log and for people
ARGV[22]      groups          who may decide: a line for each demand, with groups, separated by tabs, in one of which the
                              person must be; "" = anybody
ARGV[23]      fresh_s         how old the person's sign-in may be, s; "" = any, and a key may decide
ARGV[24]      counts_idle     "1" = somebody else vouches for the person, so their session counts until it ends in any
                              case; "" = it must not be idle
ARGV[25]      may_decide      "1" = the key's scopes let it decide, and so withdraw what was approved; "" = they do not

RETURNS       {status, state, version}
  done        the verdict is in the log; state is that of the approval: pending while more people must approve
  revoked     the key that decides is gone or has expired; nothing written
  missing     there is no such approval; nothing written
  stale       its version is not `expected`; nothing written
  decided     it is no longer pending, nor approved if it is to be cancelled; nothing written
  expired     nobody decided, or used it, in time; nothing written
  ended       since it was asked for, the agent was not active or was deleted, a policy that asked was deleted, or the
              key that asked was revoked; nothing written
  own         the key that decides has the root of the one that asked, or was made by it; nothing written
  not_own     only the key that asked, or one with its root, may cancel what waits, and only they or whoever may decide
              what was approved; nothing written
  twice       it was approved already with a key that has this one's root, made it, or was made by it; nothing written
  not_approver  no person decides, or one who is not in a group of each demand; nothing written
  not_fresh   the person's sign-in is older than fresh_s; nothing written
  backlog     the stream has backlog_max entries; nothing written
WRITES        entry, commits, approval, open, agent_open, key_open, rule_open, events; approval_call if the approval has
              ended
TIME          O(log N + P), N open approvals, P policies that asked
HOLDS         I2 no decision without its entry, I7 a revoked key gets no decision, I14 an approval is of one call,
              used as often as it says
]]
assert(#KEYS >= 12 and #ARGV == 25, 'ARITY')
local call = redis.call
local caller_key, approval, commits, audit_stream = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local open, agent_open, key_open, rule_open = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local approval_call, events, agent, asker = KEYS[9], KEYS[10], KEYS[11], KEYS[12]
local entry_id, approval_id, key_id, verdict = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local note, said, expected = ARGV[6], ARGV[7], ARGV[8]
local uses, valid_ms, keep_ms = tonumber(ARGV[9]), tonumber(ARGV[10]), ARGV[11]
local backlog_max, time_us = tonumber(ARGV[12]), tonumber(ARGV[1])
local agent_id, tool_name, asked_by, required = ARGV[13], ARGV[14], ARGV[15], tonumber(ARGV[16])
local max_uses, most_valid_ms = tonumber(ARGV[17]), tonumber(ARGV[18])
local policy_id, rule, decided_by = ARGV[19], ARGV[20], ARGV[21]
local groups, fresh_s, counts_idle, may_decide = ARGV[22], tonumber(ARGV[23]), ARGV[24] == '1', ARGV[25] == '1'

if not time_us then
  local clock = call('TIME')
  time_us = clock[1] * 1000000 + clock[2]
end
local time_ms = math.floor(time_us / 1000)
local time_ms_text = string.format('%.0f', time_ms)

local caller = call('HMGET', caller_key, 'created_ms', 'expires_ms', 'name', 'made_by', 'root', 'person', 'groups',
  'authenticated_s', 'ends_ms')
local stored = call('HMGET', approval, 'status', 'version', 'expires_ms', 'approvers', 'uses_left', 'granted_ms', 'said',
  'approved_by', 'asked_sequence', 'approvers_made_by', 'usable_until_ms')
local state, version = stored[1], tonumber(stored[2] or 1)
local function refuse(status) return {status, state or '', version} end

local ends_ms = counts_idle and caller[9] or caller[2]
if not caller[1] or (ends_ms and not (time_ms < tonumber(ends_ms))) then return refuse('revoked') end
if not state then return refuse('missing') end
if expected ~= '' and tonumber(expected) ~= version then return refuse('stale') end
local withdraws = verdict == 'cancelled' and state == 'approved'
if state ~= 'pending' and not withdraws then return refuse('decided') end
if not (time_ms < tonumber(withdraws and stored[11] or stored[3])) then return refuse('expired') end
local of_agent = call('HMGET', agent, 'version', 'approvals_ended')
if not of_agent[1] or not (tonumber(stored[9] or 0) > tonumber(of_agent[2] or -1)) then return refuse('ended') end
local of_asker = call('HMGET', asker, 'created_ms', 'root')
if not of_asker[1] then return refuse('ended') end
for i = 13, #KEYS do
  if call('HEXISTS', KEYS[i], 'version') == 0 then return refuse('ended') end
end
local root, made_by, asker_root = caller[5] or key_id, caller[4] or '', of_asker[2] or asked_by
-- Lists of roots are separated by spaces; a space before each is the form of the oldest ones.
local function has(roots, one) return string.find(' ' .. roots .. ' ', ' ' .. one .. ' ', 1, true) end
if verdict == 'cancelled' and root == asker_root then
  groups, fresh_s = '', nil -- whoever asked may always take it back
elseif verdict == 'cancelled' then
  if not (withdraws and may_decide) then return refuse('not_own') end
elseif root == asker_root or has(made_by, asker_root) then
  return refuse('own')
end
if groups ~= '' or fresh_s then
  if not caller[6] then return refuse('not_approver') end
  local has_groups = '\n' .. (caller[7] or '') .. '\n'
  for demand in string.gmatch(groups, '[^\n]+') do
    local is_met = false
    for group in string.gmatch(demand, '[^\t]+') do
      is_met = is_met or string.find(has_groups, '\n' .. group .. '\n', 1, true)
    end
    if not is_met then return refuse('not_approver') end
  end
  local authenticated_s = tonumber(caller[8])
  if fresh_s and not (authenticated_s and time_ms / 1000 - authenticated_s <= fresh_s) then return refuse('not_fresh') end
end
-- Roots of those who have approved, and of all who made their keys. Whoever approved may withdraw it.
local approvers, approvers_made_by = stored[4] or '', stored[10] or ''
if not withdraws then
  if has(approvers, root) or has(approvers_made_by, root) then return refuse('twice') end
  for maker in string.gmatch(made_by, '%S+') do
    if has(approvers, maker) then return refuse('twice') end
  end
end
if call('XLEN', audit_stream) >= backlog_max then return refuse('backlog') end
-- Scripts do not roll back: a key of the wrong type must fail before the first write.
call('ZCARD', open)
call('ZCARD', agent_open)
call('ZCARD', key_open)
call('ZCARD', rule_open)
call('XLEN', events)
local is_current = call('GET', approval_call) == approval_id
local sequence = string.format('%.0f', (call('HGET', commits, 'sequence') or 0) + 1)

version = version + 1
local record = {'version', version, 'said', (stored[7] or '') .. time_ms_text .. ' ' .. key_id .. ' ' .. verdict .. ' '
  .. note .. '\n', 'approvers', approvers .. (verdict == 'approved' and ' ' .. root or ''),
  'by ' .. key_id, decided_by}
local function set(name, value)
  record[#record + 1] = name
  record[#record + 1] = value
end
state = verdict
if verdict == 'approved' then
  -- The next person can only narrow what the one before has granted.
  local uses_left = math.min(tonumber(stored[5] or max_uses), uses or math.huge)
  local granted_ms = math.min(tonumber(stored[6] or most_valid_ms), valid_ms or math.huge)
  set('uses_left', uses_left)
  set('approved_by', (stored[8] and stored[8] .. '", "' or '') .. caller[3])
  set('granted_ms', string.format('%.0f', granted_ms))
  if made_by ~= '' then set('approvers_made_by', approvers_made_by .. ' ' .. made_by) end
  local _, count = string.gsub(record[6], ' ', '')
  if count < required then
    state = 'pending'
  else
    set('usable_until_ms', string.format('%.0f', time_ms + granted_ms))
  end
end
set('status', state)

call('XADD', audit_stream, sequence .. '-0',
  'id', entry_id, 'timeMs', time_ms_text, 'agentId', agent_id, 'keyId', key_id, 'action', 'approval',
  'toolName', tool_name, 'parameters', '{}', 'result', '', 'policyId', policy_id, 'rule', rule,
  'reason', string.upper(string.sub(verdict, 1, 1)) .. string.sub(verdict, 2) .. ' by "' .. caller[3] .. '"' .. said,
  'latencyUs', '0', 'type', 'approval', 'code', 'approval_' .. verdict, 'approvalId', approval_id,
  'decidedBy', decided_by)
call('HSET', commits, 'sequence', sequence)
call('HSET', approval, unpack(record))
call('XADD', events, 'MAXLEN', '~', '10000', '*', 'id', approval_id, 'status', state)
if state == 'approved' then
  local until_ms = string.format('%.0f', time_ms + tonumber(call('HGET', approval, 'granted_ms')))
  call('ZADD', open, until_ms, approval_id)
  call('ZADD', agent_open, until_ms, approval_id)
  call('ZADD', key_open, until_ms, approval_id)
  call('ZADD', rule_open, until_ms, approval_id)
elseif state ~= 'pending' then
  call('ZREM', open, approval_id)
  call('ZREM', agent_open, approval_id)
  call('ZREM', key_open, approval_id)
  call('ZREM', rule_open, approval_id)
  if is_current then call('DEL', approval_call) end
  call('PEXPIRE', approval, keep_ms)
end
return {'done', state, version}
