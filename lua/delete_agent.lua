#!lua
--[[
delete_agent: remove an agent with its policies and quotas; its audit entries stay.

KEYS[1]       agent           hash; the agent's record
KEYS[2]       agents          sorted set of the workspace's agents
KEYS[3]       agent_policies  sorted set of the agent's policy ids
KEYS[4]       policies        sorted set of the workspace's policy ids
KEYS[4+i]     record          record or quota of one of its policies

ARGV[1]       expected        version token at which the policies and quotas were listed
ARGV[2]       id              agent id

RETURNS       {status}
  done        nothing of the agent is left but its audit entries
  stale       the agent is not at `expected` (changed or gone); nothing written
WRITES        everything named
TIME          O(P log N), P policies of the agent, N of the workspace
HOLDS         I8 an acknowledged change binds every later decision
]]
local agent, agents, agent_policies, policies = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local expected, id = ARGV[1], ARGV[2]

if redis.call('HGET', agent, 'version') ~= expected then return {'stale'} end
-- Scripts do not roll back: a key of another type must be an error before the first write.
redis.call('ZCARD', agents)
redis.call('ZCARD', policies)
local policy_ids = redis.call('ZRANGE', agent_policies, 0, -1)

redis.call('DEL', agent)
redis.call('ZREM', agents, id)
for _, policy_id in ipairs(policy_ids) do redis.call('ZREM', policies, policy_id) end
redis.call('DEL', agent_policies)
for i = 5, #KEYS do redis.call('DEL', KEYS[i]) end
return {'done'}
