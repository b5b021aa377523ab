#!lua flags=allow-oom
--[[
delete_agent: remove an agent with its policies and quotas; its audit entries stay.

KEYS[1]       caller_key      hash; record of the caller's API key; missing = revoked
KEYS[2]       changes         stream; the trail of changes
KEYS[3]       agent           hash; the agent's record
KEYS[4]       agents          sorted set of the workspace's agents
KEYS[5]       agent_policies  sorted set of the agent's policy ids
KEYS[6]       policies        sorted set of the workspace's policy ids
KEYS[7]       aliases         hash; alias → id of the agent that has it
KEYS[8]       commits         hash; has the sequence of the log's newest entry, and in `workspace` the version
                              token of what applies to every agent
KEYS[9]       marks           hash; what enabled policies name in `forbiddenAfter` -> how many policies name it
KEYS[9+i]     record          record, versions, divergence or quota of one of its policies

ARGV[1]       actor_id        id of the caller's API key; "console" = none
ARGV[2]       before          for the trail: JSON of the agent
ARGV[3]       expected        version token at which the policies and quotas were listed
ARGV[4]       id              agent id
ARGV[5]       reason          for the trail: why it is deleted; "" = not given
ARGV[6]       old_marks       fields of `marks` that its policies name, separated by line feeds
ARGV[7]       version_token   the workspace's new one, set if no policy names one of these marks any more
ARGV[6+2i]    policy_id       policy i of the agent
ARGV[7+2i]    policy_before   for the trail: JSON of policy i

RETURNS       {status}
  done        only the agent's audit entries and the trail of its changes remain
  revoked     the caller's key is gone; nothing written
  stale       the agent is not at `expected` (changed or gone); nothing written
WRITES        every key named; of commits only `workspace`
TIME          O(P log N), P policies of the agent, N of the workspace
HOLDS         I8 an acknowledged change binds every later decision, I13 no change without its entry in the trail
]]
assert(#KEYS >= 9 and #ARGV >= 7 and (#ARGV - 7) % 2 == 0, 'ARITY')
local caller_key, changes = KEYS[1], KEYS[2]
local agent, agents, agent_policies, policies = KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local aliases, commits, marks = KEYS[7], KEYS[8], KEYS[9]
local actor_id, before, expected, id, reason = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local old_marks, version_token = ARGV[6], ARGV[7]

local actor = actor_id == 'console' and {actor_id} or redis.call('HMGET', caller_key, 'name', 'via', 'person')
if not actor[1] then return {'revoked'} end
if redis.call('HGET', agent, 'version') ~= expected then return {'stale'} end
-- Scripts do not roll back: a key of the wrong type must fail before the first write.
redis.call('ZCARD', agents)
redis.call('ZCARD', policies)
local alias = redis.call('HGET', agent, 'alias')
local has_alias = redis.call('HGET', aliases, alias or '') == id
local sequence = redis.call('HGET', commits, 'sequence') or '0'
redis.call('HLEN', marks)
local policy_ids = redis.call('ZRANGE', agent_policies, 0, -1)

local function note(resource_type, resource_id, was)
  redis.call('XADD', changes, '*', 'actorId', actor_id, 'actorName', actor[1], 'kind', 'deleted',
    'resourceType', resource_type, 'resourceId', resource_id, 'before', was, 'after', '', 'sequence', sequence,
    'reason', reason, 'via', actor[2] or '', 'person', actor[3] or '')
end
for i = 8, #ARGV, 2 do note('policy', ARGV[i], ARGV[i + 1]) end
note('agent', id, before)
redis.call('DEL', agent)
redis.call('ZREM', agents, id)
if has_alias then redis.call('HDEL', aliases, alias) end
for _, policy_id in ipairs(policy_ids) do redis.call('ZREM', policies, policy_id) end
redis.call('DEL', agent_policies)
for mark in string.gmatch(old_marks, '[^\n]+') do
  if redis.call('HINCRBY', marks, mark, '-1') <= 0 then
    redis.call('HDEL', marks, mark)
    redis.call('HSET', commits, 'workspace', version_token)
  end
end
for i = 10, #KEYS do redis.call('DEL', KEYS[i]) end
return {'done'}
