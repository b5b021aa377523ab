#!lua
--[[
submit_access_request: a pending approval records why access is requested and whom to call back, and so does the log.

KEYS[1]       caller_key      hash; record of the API key that submits; missing = revoked
KEYS[2]       approval        hash; the approval's record
KEYS[3]       commits         hash; `sequence` is that of the log's newest entry
KEYS[4]       audit_stream    stream; id = <sequence>-0
KEYS[5]       submission      string; MAC of the body that came with this Idempotency-Key

ARGV[1]       now_us          store time, us since the epoch; "" = server's clock (production)
ARGV[2]       entry_id        id of the entry in the log
ARGV[3]       approval_id     of the record
ARGV[4]       key_id          id of the API key that submits
ARGV[5]       bodies          MACs of the body, the newest first, each followed by a space; "" = without Idempotency-Key
ARGV[6]       keep_ms         how long the Idempotency-Key is kept after the approval's time to be decided is over; "" = it is
                              only compared
ARGV[7]       request         JSON: what people are shown
ARGV[8]       callback        JSON; "" = nobody is called back
ARGV[9]       backlog_max     entries that the stream may have unsealed
ARGV[10]      agent_id        of the approval. This and what follows have not changed since it was asked for
ARGV[11]      tool_name
ARGV[12]      policy_id       of the policy whose rule asked
ARGV[13]      rule            that asked, "<index> <type>"

RETURNS       {status}
  done        the approval and the log have the request, unless the approval is no longer pending, or had it already;
              so it is for a body that came before with this Idempotency-Key
  revoked     the key is gone or has expired; nothing written
  missing     there is no such approval; nothing written
  duplicate   another body came with this Idempotency-Key; nothing written
  expired     the time to request the access is over; nothing written
  backlog     the stream has backlog_max entries; nothing written
WRITES        entry, commits, approval, submission
TIME          O(1)
HOLDS         I7 a revoked key gets no decision
]]
assert(#KEYS == 5 and #ARGV == 13, 'ARITY')
local call = redis.call
local caller_key, approval, commits, audit_stream, submission = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local entry_id, approval_id, key_id, bodies, keep_ms = ARGV[2], ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6])
local request, callback, backlog_max, time_us = ARGV[7], ARGV[8], tonumber(ARGV[9]), tonumber(ARGV[1])
local agent_id, tool_name, policy_id, rule = ARGV[10], ARGV[11], ARGV[12], ARGV[13]

if not time_us then
  local clock = call('TIME')
  time_us = clock[1] * 1000000 + clock[2]
end
local time_ms = math.floor(time_us / 1000)
local caller = call('HMGET', caller_key, 'created_ms', 'expires_ms', 'name')
if not caller[1] or (caller[2] and not (time_ms < tonumber(caller[2]))) then return {'revoked'} end
local stored = call('HMGET', approval, 'status', 'version', 'expires_ms', 'request', 'callback')
if not stored[1] then return {'missing'} end
local first_body = bodies ~= '' and call('GET', submission)
if first_body and not string.find(bodies, first_body .. ' ', 1, true) then return {'duplicate'} end
local left_ms = tonumber(stored[3]) - time_ms
if not first_body and (stored[1] == 'expired' or left_ms <= 0) then return {'expired'} end
local is_new = stored[1] == 'pending' and left_ms > 0 and not first_body
  and (stored[4] ~= request or (stored[5] or '') ~= callback)
if is_new and call('XLEN', audit_stream) >= backlog_max then return {'backlog'} end
-- Scripts do not roll back: what is no number must fail before the first write.
local version = (stored[2] or 1) + 1
local sequence = string.format('%.0f', (call('HGET', commits, 'sequence') or 0) + 1)

if is_new then
  call('XADD', audit_stream, sequence .. '-0',
    'id', entry_id, 'timeMs', string.format('%.0f', time_ms), 'agentId', agent_id, 'keyId', key_id, 'action', 'approval',
    'toolName', tool_name, 'parameters', '{}', 'context', request, 'result', '', 'policyId', policy_id, 'rule', rule,
    'reason', 'Access requested by "' .. caller[3] .. '"', 'latencyUs', '0', 'type', 'approval',
    'code', 'access_requested', 'approvalId', approval_id)
  call('HSET', commits, 'sequence', sequence)
  call('HSET', approval, 'request', request, 'callback', callback, 'version', version)
end
if bodies ~= '' and keep_ms and not first_body then
  call('SET', submission, string.match(bodies, '%S+'), 'PX', string.format('%.0f', left_ms + keep_ms))
end
return {'done'}
