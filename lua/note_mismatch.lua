#!lua
--[[
note_mismatch: the log has an entry that a call named an approval which is not its own, and its key's holder has one more.

KEYS[1]       caller_key      hash; record of the API key that asked; missing = revoked
KEYS[2]       commits         hash; `sequence` is that of the log's newest entry
KEYS[3]       audit_stream    stream; id = <sequence>-0
KEYS[4]       mismatches      string; how many calls of the key's holder named such an approval within window_ms

ARGV[1]       now_us          store time, us since the epoch; "" = server's clock (production)
ARGV[2]       entry_id        id of the entry in the log
ARGV[3]       backlog_max     entries that the stream may have unsealed
ARGV[4]       window_ms       how long after the first of them they are counted
ARGV[5]       agent_id        of the call
ARGV[6]       key_id          id of the API key that asked
ARGV[7]       tool_name       of the call
ARGV[8]       approval_id     that the call named

RETURNS       {status}
  done        the entry is in the log, and the mismatch is counted
  revoked     the key is gone or has expired; nothing written
  backlog     the stream has backlog_max entries; nothing written
WRITES        entry, commits, mismatches
TIME          O(1)
HOLDS         I7 a revoked key gets no decision
]]
assert(#KEYS == 4 and #ARGV == 8, 'ARITY')
local call = redis.call
local caller_key, commits, audit_stream, mismatches = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local entry_id, backlog_max, window_ms, time_us = ARGV[2], tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[1])
local agent_id, key_id, tool_name, approval_id = ARGV[5], ARGV[6], ARGV[7], ARGV[8]

if not time_us then
  local clock = call('TIME')
  time_us = clock[1] * 1000000 + clock[2]
end
local time_ms = math.floor(time_us / 1000)
local key = call('HMGET', caller_key, 'created_ms', 'expires_ms')
if not key[1] or (key[2] and not (time_ms < tonumber(key[2]))) then return {'revoked'} end
if call('XLEN', audit_stream) >= backlog_max then return {'backlog'} end
-- Scripts do not roll back: what is no number must fail before the first write.
assert(tonumber(call('GET', mismatches) or 0), 'The mismatches are no number')
local sequence = string.format('%.0f', (call('HGET', commits, 'sequence') or 0) + 1)

call('XADD', audit_stream, sequence .. '-0',
  'id', entry_id, 'timeMs', string.format('%.0f', time_ms), 'agentId', agent_id, 'keyId', key_id, 'action', 'approval',
  'toolName', tool_name, 'parameters', '{}', 'result', '', 'policyId', '', 'rule', '',
  'reason', 'The call named an approval that is not open or not its own', 'latencyUs', '0',
  'type', 'approval', 'code', 'approval_mismatch', 'approvalId', approval_id)
call('HSET', commits, 'sequence', sequence)
if call('INCR', mismatches) == 1 then call('PEXPIRE', mismatches, window_ms) end
return {'done'}
