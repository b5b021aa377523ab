#!lua flags=allow-oom
--[[
delete_policy: remove a policy, its quotas and its counts of divergences.

KEYS[1]       caller_key      hash; record of the caller's API key; missing = revoked
KEYS[2]       changes         stream; the trail of changes
KEYS[3]       owner           hash; record of its owner (agent, group or workspace), which counts the rate limits and
                              bytes of the owner's policies
KEYS[4]       tokens          hash that holds the owner's version token: an agent's record itself, else `commits`
KEYS[5]       policy          hash; the policy's record
KEYS[6]       owner_policies  sorted set of the owner's policy ids
KEYS[7]       policies        sorted set of the workspace's policy ids
KEYS[8]       commits         hash; holds the sequence of the log's newest entry, and in `workspace` the version
                              token of what applies to every agent
KEYS[9]       versions        list; ids of the policy's changes in the trail
KEYS[10]      marks           hash; what enabled policies name in `forbiddenAfter` -> how many policies name it
KEYS[10+i]    counted         list or hash; the bucket of one of its rate limits, or its counts of divergences

ARGV[1]       actor_id        id of the caller's API key; "console" = none
ARGV[2]       before          for the trail: JSON of the policy
ARGV[3]       expected        policy version at which the quotas were listed
ARGV[4]       token_field     field of `tokens` that holds the owner's version token
ARGV[5]       version_token   the new one
ARGV[6]       id              policy id
ARGV[7]       reason          for the trail: why it is deleted; "" = not given
ARGV[8]       old_marks       fields of `marks` that the policy names, separated by line feeds

RETURNS       {status}
  done        the policy is gone
  revoked     the caller's key is gone; nothing written
  stale       the policy is not at `expected` (changed or gone); nothing written
  frozen      the agent is being deleted; nothing written
WRITES        every key named; of commits only version tokens. A group or workspace whose last policy goes loses its token
              and counts; a workspace with marks keeps its token. If no policy names one of the marks any more, the
              workspace's token is replaced
TIME          O(log N), N policies of the workspace
HOLDS         I8 an acknowledged change binds every later decision, I13 no change without its entry in the trail
]]
assert(#KEYS >= 10 and #ARGV == 8, 'ARITY')
local caller_key, changes = KEYS[1], KEYS[2]
local owner, tokens, policy, owner_policies, policies = KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local actor_id, before, expected = ARGV[1], ARGV[2], ARGV[3]
local token_field, version_token, id, reason = ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local commits, versions, marks, old_marks = KEYS[8], KEYS[9], KEYS[10], ARGV[8]
local clock = redis.call('TIME')
local now_ms = clock[1] * 1000 + math.floor(clock[2] / 1000)

local actor_name = actor_id == 'console' and actor_id or redis.call('HGET', caller_key, 'name')
if not actor_name then return {'revoked'} end
if redis.call('HGET', policy, 'version') ~= expected then return {'stale'} end
-- Frozen: the agent is being deleted. A freeze that ends over a second from now dates from before a clock step.
local frozen_ms = tonumber(redis.call('HGET', owner, 'frozen_until_ms') or 0) - now_ms
if frozen_ms > 0 and frozen_ms <= 1000 then return {'frozen'} end
-- Scripts do not roll back: a key of the wrong type must fail before the first write.
local held_by_owner = redis.call('ZCARD', owner_policies)
redis.call('ZCARD', policies)
redis.call('HEXISTS', tokens, token_field)
local sequence = redis.call('HGET', commits, 'sequence') or '0'
redis.call('HLEN', marks)
-- A policy or an agent that an older release wrote may have no counts.
local held = redis.call('HMGET', policy, 'rate_limits', 'rules_bytes')
local counts = redis.call('HMGET', owner, 'rate_limits', 'rules_bytes')
local rate_limits = math.max(0, tonumber(counts[1] or 0) - tonumber(held[1] or 0))
local rules_bytes = math.max(0, tonumber(counts[2] or 0) - tonumber(held[2] or 0))

redis.call('XADD', changes, '*', 'actorId', actor_id, 'actorName', actor_name, 'kind', 'deleted',
  'resourceType', 'policy', 'resourceId', id, 'before', before, 'after', '', 'sequence', sequence,
  unpack(reason == '' and {} or {'reason', reason}))
for mark in string.gmatch(old_marks, '[^\n]+') do
  if redis.call('HINCRBY', marks, mark, '-1') <= 0 then
    redis.call('HDEL', marks, mark)
    redis.call('HSET', commits, 'workspace', version_token)
  end
end
if tokens ~= owner and held_by_owner == 1 and (token_field ~= 'workspace' or redis.call('EXISTS', marks) == 0) then
  -- Without policies and marks there is no token, whatever there was before.
  redis.call('HDEL', tokens, token_field)
  redis.call('HDEL', owner, 'rate_limits', 'rules_bytes')
else
  redis.call('HSET', tokens, token_field, version_token)
  redis.call('HSET', owner, 'rate_limits', rate_limits, 'rules_bytes', rules_bytes)
end
redis.call('ZREM', owner_policies, id)
redis.call('ZREM', policies, id)
redis.call('DEL', policy, versions)
for i = 11, #KEYS do redis.call('DEL', KEYS[i]) end
return {'done'}
