#!lua flags=allow-oom
--[[
delete_policy: remove a policy and its quotas.

KEYS[1]       caller_key      hash; the record of the key that asks: gone = revoked
KEYS[2]       changes         stream; the trail of changes
KEYS[3]       agent           hash; the agent's record, which gets the new version token and counts what is in its policies
KEYS[4]       policy          hash; the policy's record
KEYS[5]       agent_policies  sorted set of the agent's policy ids
KEYS[6]       policies        sorted set of the workspace's policy ids
KEYS[6+i]     quota           list; bucket of one of its rate limits

ARGV[1]       actor_id        id of the key that asks; "console" = none
ARGV[2]       before          for the trail: JSON of the policy
ARGV[3]       expected        policy version at which the quotas were listed
ARGV[4]       version_token   the agent's new version token
ARGV[5]       id              policy id

RETURNS       {status}
  done        the policy is gone
  revoked     the key that asks is gone; nothing written
  stale       the policy is not at `expected` (changed or gone); nothing written
  frozen      the agent is being deleted; nothing written
WRITES        everything named
TIME          O(log N), N policies of the workspace
HOLDS         I8 an acknowledged change binds every later decision, I13 no change without its entry in the trail
]]
assert(#KEYS >= 6 and #ARGV == 5, 'ARITY')
local caller_key, changes = KEYS[1], KEYS[2]
local agent, policy, agent_policies, policies = KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local actor_id, before, expected, version_token, id = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local clock = redis.call('TIME')
local now_ms = clock[1] * 1000 + math.floor(clock[2] / 1000)

local actor_name = actor_id == 'console' and actor_id or redis.call('HGET', caller_key, 'name')
if not actor_name then return {'revoked'} end
if redis.call('HGET', policy, 'version') ~= expected then return {'stale'} end
-- While it is being deleted. A freeze that lies further away than any does is from before the clock stepped back.
local frozen_ms = tonumber(redis.call('HGET', agent, 'frozen_until_ms') or 0) - now_ms
if frozen_ms > 0 and frozen_ms <= 1000 then return {'frozen'} end
-- Scripts do not roll back: a key of another type must be an error before the first write.
redis.call('ZCARD', agent_policies)
redis.call('ZCARD', policies)
-- A policy or an agent from before there were counts has none.
local held = redis.call('HMGET', policy, 'rate_limits', 'rules_bytes')
local counts = redis.call('HMGET', agent, 'rate_limits', 'rules_bytes')
local rate_limits = math.max(0, tonumber(counts[1] or 0) - tonumber(held[1] or 0))
local rules_bytes = math.max(0, tonumber(counts[2] or 0) - tonumber(held[2] or 0))

redis.call('XADD', changes, '*', 'actorId', actor_id, 'actorName', actor_name, 'kind', 'deleted',
  'resourceType', 'policy', 'resourceId', id, 'before', before, 'after', '')
redis.call('HSET', agent, 'version', version_token, 'rate_limits', rate_limits, 'rules_bytes', rules_bytes)
redis.call('ZREM', agent_policies, id)
redis.call('ZREM', policies, id)
redis.call('DEL', policy)
for i = 7, #KEYS do redis.call('DEL', KEYS[i]) end
return {'done'}
