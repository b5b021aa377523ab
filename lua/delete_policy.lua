#!lua
--[[
delete_policy: remove a policy and its quotas.

KEYS[1]       agent           hash; the agent's record, which gets the new version token
KEYS[2]       policy          hash; the policy's record
KEYS[3]       agent_policies  sorted set of the agent's policy ids
KEYS[4]       policies        sorted set of the workspace's policy ids
KEYS[4+i]     quota           list; bucket of one of its rate limits

ARGV[1]       expected        policy version at which the quotas were listed
ARGV[2]       version_token   the agent's new version token
ARGV[3]       id              policy id

RETURNS       {status}
  done        the policy is gone
  stale       the policy is not at `expected` (changed or gone); nothing written
WRITES        everything named
TIME          O(log N), N policies of the workspace
HOLDS         I8 an acknowledged change binds every later decision
]]
local agent, policy, agent_policies, policies = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local expected, version_token, id = ARGV[1], ARGV[2], ARGV[3]

if redis.call('HGET', policy, 'version') ~= expected then return {'stale'} end
-- Scripts do not roll back: a key of another type must be an error before the first write.
redis.call('HGET', agent, 'version')
redis.call('ZCARD', agent_policies)
redis.call('ZCARD', policies)

redis.call('HSET', agent, 'version', version_token)
redis.call('ZREM', agent_policies, id)
redis.call('ZREM', policies, id)
redis.call('DEL', policy)
for i = 5, #KEYS do redis.call('DEL', KEYS[i]) end
return {'done'}
