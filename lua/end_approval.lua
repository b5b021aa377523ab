#!lua flags=allow-oom
--[[
end_approval: end an approval whose time has passed, or whose agent, policy or API key is gone.

KEYS[1]       approval        hash; the approval's record
KEYS[2]       commits         hash; `sequence` is that of the log's newest entry
KEYS[3]       audit_stream    stream; id = <sequence>-0
KEYS[4]       open            sorted set; approvals that can still be decided or used; score = ms at which that ends
KEYS[5]       agent_open      the same for the approval's agent
KEYS[6]       key_open        the same for the API key that asked
KEYS[7]       rule_open       the same for the first rule that asked about this agent
KEYS[8]       approval_call   string; id of the call's current approval
KEYS[9]       events          stream; changes of approvals, for clients that wait for them

ARGV[1]       now_us          store time, us since the epoch; "" = server's clock (production)
ARGV[2]       entry_id        id of the entry in the log
ARGV[3]       approval_id     of the record
ARGV[4]       ending          expired: only if its time has passed; cancelled: at any time
ARGV[5]       reason          of the entry
ARGV[6]       keep_ms         how long the record stays
ARGV[7]       backlog_max     entries that the stream may have unsealed
ARGV[8]       agent_id        of the approval. This and what follows have not changed since it was asked for
ARGV[9]       tool_name
ARGV[10]      asked_by        id of the API key that asked
ARGV[11]      policy_id       of the policy whose rule asked
ARGV[12]      rule            that asked, "<index> <type>"

RETURNS       {status}
  done        the approval has ended, and the log has the entry
  kept        it had already ended, or its time has not passed; no entry written
  backlog     the stream has backlog_max entries; nothing written
WRITES        entry, commits, approval, open, agent_open, key_open, rule_open, approval_call, events
TIME          O(log N), N open approvals
HOLDS         I2 no decision without its entry, I14 an approval is of one call, used as often as it says
]]
assert(#KEYS == 9 and #ARGV == 12, 'ARITY')
local call = redis.call
local approval, commits, audit_stream, open = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local agent_open, key_open, rule_open, approval_call, events = KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local entry_id, approval_id, ending, reason = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local keep_ms, backlog_max, time_us = ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[1])
local agent_id, tool_name, asked_by, policy_id, rule = ARGV[8], ARGV[9], ARGV[10], ARGV[11], ARGV[12]

if not time_us then
  local clock = call('TIME')
  time_us = clock[1] * 1000000 + clock[2]
end
local time_ms = math.floor(time_us / 1000)
local stored = call('HMGET', approval, 'status', 'version', 'expires_ms', 'usable_until_ms')
local state = stored[1]
if state ~= 'pending' and state ~= 'approved' then
  if call('ZSCORE', open, approval_id) then call('ZREM', open, approval_id) end
  if call('ZSCORE', agent_open, approval_id) then call('ZREM', agent_open, approval_id) end
  if call('ZSCORE', key_open, approval_id) then call('ZREM', key_open, approval_id) end
  if call('ZSCORE', rule_open, approval_id) then call('ZREM', rule_open, approval_id) end
  return {'kept'}
end
local ends_ms = tonumber(state == 'pending' and stored[3] or stored[4])
if ending == 'expired' and time_ms < ends_ms then return {'kept'} end
if call('XLEN', audit_stream) >= backlog_max then return {'backlog'} end
-- Scripts do not roll back: a key of the wrong type must fail before the first write.
call('ZCARD', open)
call('ZCARD', agent_open)
call('ZCARD', key_open)
call('ZCARD', rule_open)
call('XLEN', events)
local is_current = call('GET', approval_call) == approval_id
local sequence = string.format('%.0f', (call('HGET', commits, 'sequence') or 0) + 1)

call('XADD', audit_stream, sequence .. '-0',
  'id', entry_id, 'timeMs', string.format('%.0f', time_ms), 'agentId', agent_id, 'keyId', asked_by, 'action', 'approval',
  'toolName', tool_name, 'parameters', '{}', 'result', '', 'policyId', policy_id, 'rule', rule, 'reason', reason,
  'latencyUs', '0', 'type', 'approval', 'code', 'approval_' .. ending, 'approvalId', approval_id)
call('HSET', commits, 'sequence', sequence)
call('HSET', approval, 'status', ending, 'version', (stored[2] or 1) + 1)
call('ZREM', open, approval_id)
call('ZREM', agent_open, approval_id)
call('ZREM', key_open, approval_id)
call('ZREM', rule_open, approval_id)
if is_current then call('DEL', approval_call) end
call('XADD', events, 'MAXLEN', '~', '10000', '*', 'id', approval_id, 'status', ending)
call('PEXPIRE', approval, keep_ms)
return {'done'}
