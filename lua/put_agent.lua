#!lua
--[[
put_agent: create an agent, or replace the record of one that has not changed since it was read.

KEYS[1]       caller_key      hash; record of the caller's API key; missing = revoked
KEYS[2]       changes         stream; the trail of changes
KEYS[3]       agent           hash; the agent's record
KEYS[4]       agents          sorted set; member = agent id, score = created_ms
KEYS[5]       commits         hash; has the sequence of the log's newest entry
KEYS[6]       aliases         hash; alias → id of the agent that has it
KEYS[7]       holder          hash; record of the agent that had the alias when it was looked up; if none, `agent`

ARGV[1]       actor_id        id of the caller's API key; "console" = none
ARGV[2]       before          for the trail: JSON of the fields that change; "" = create
ARGV[3]       after           for the trail: JSON of those fields afterwards
ARGV[4]       expected        revision that the caller read; 0 = create
ARGV[5]       version         the new version token
ARGV[6]       id              agent id
ARGV[7]       agents_max      agents that the workspace may have
ARGV[8]       active          1 or 0: whether the agent is active now
ARGV[9]       alias           its alias from now on; "" = none
ARGV[10]      holder_id       the agent that had the alias when it was looked up; "" = none
ARGV[11]      reason          for the trail: why it is changed; "" = not given
ARGV[10+2i]   field           field i of the record
ARGV[11+2i]   value           value i. All fields are given, except alias, times, revision, version, counts and
                              approvals_ended

RETURNS       {status, created_ms, updated_ms, revision}
  done        the record has exactly the given fields, its alias, created_ms, updated_ms, revision and version,
              and rate_limits and rules_bytes if it had them. The revision counts the changes of the agent's own
              fields, from 1. approvals_ended is the log's newest sequence when the agent was last not active;
              approvals asked for before that have ended
  taken       another agent has the alias; nothing written, numbers are 0
  revoked     the caller's key is gone; nothing written, numbers are 0
  stale       the record is not at `expected`, or an agent other than `holder_id` has the alias; nothing written,
              numbers are 0
  frozen      the agent is being deleted; nothing written, numbers are 0
  full        the workspace has agents_max agents; nothing written, numbers are 0
WRITES        changes, agent, agents, aliases
TIME          O(log N), N agents
HOLDS         I8 an acknowledged change binds every later decision, I13 no change without its entry in the trail

An agent's alias is the one in its record. A release that does not know aliases can leave entries in `aliases` whose
agents have no such alias; these do not make an alias taken.
]]
assert(#KEYS == 7 and #ARGV >= 11 and (#ARGV - 11) % 2 == 0, 'ARITY')
local caller_key, changes, agent, agents, commits = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local aliases, holder = KEYS[6], KEYS[7]
local actor_id, before, after = ARGV[1], ARGV[2], ARGV[3]
local expected, version, id, agents_max = tonumber(ARGV[4]), ARGV[5], ARGV[6], tonumber(ARGV[7])
local active, alias, holder_id = ARGV[8] == '1', ARGV[9], ARGV[10]
local reason = ARGV[11]
local clock = redis.call('TIME')
local now_ms = clock[1] * 1000 + math.floor(clock[2] / 1000)

local actor = actor_id == 'console' and {actor_id} or redis.call('HMGET', caller_key, 'name', 'via', 'person')
if not actor[1] then return {'revoked', 0, 0, 0} end
local stored = redis.call('HMGET', agent, 'version', 'created_ms', 'updated_ms', 'revision', 'rate_limits',
  'rules_bytes', 'approvals_ended', 'alias')
-- The revision and not the version token, which also changes with every edit of a policy: suspending an agent must
-- not fail because of those.
local stored_revision = stored[1] and tonumber(stored[4]) or 0
if stored_revision ~= expected then return {'stale', 0, 0, 0} end
-- Frozen: the agent is being deleted. A freeze that ends over a second from now dates from before a clock step.
local frozen_ms = tonumber(redis.call('HGET', agent, 'frozen_until_ms') or 0) - now_ms
if frozen_ms > 0 and frozen_ms <= 1000 then return {'frozen', 0, 0, 0} end
-- Scripts do not roll back: a key of the wrong type must fail before the first write.
local agents_held = redis.call('ZCARD', agents)
local sequence = redis.call('HGET', commits, 'sequence') or '0'
if expected == 0 and agents_held >= agents_max then return {'full', 0, 0, 0} end
local approvals_ended = active and stored[7] or not active and sequence
local old_alias = stored[8] or ''
local leads_to = redis.call('HGET', aliases, alias ~= '' and alias or old_alias) or ''
if alias ~= '' and leads_to ~= '' and leads_to ~= id then
  if leads_to ~= holder_id then return {'stale', 0, 0, 0} end
  if redis.call('HGET', holder, 'alias') == alias then return {'taken', 0, 0, 0} end
end
local created_ms = tonumber(stored[2] or now_ms)
-- Strictly later than before, so that two changes within a millisecond can be told apart.
local updated_ms = stored[3] and math.max(now_ms, tonumber(stored[3]) + 1) or now_ms
local revision = stored_revision + 1

local record = {'created_ms', string.format('%.0f', created_ms), 'updated_ms', string.format('%.0f', updated_ms),
  'revision', revision, 'version', version}
if stored[5] then record[#record + 1], record[#record + 2] = 'rate_limits', stored[5] end
if stored[6] then record[#record + 1], record[#record + 2] = 'rules_bytes', stored[6] end
if approvals_ended then record[#record + 1], record[#record + 2] = 'approvals_ended', approvals_ended end
if alias ~= '' then record[#record + 1], record[#record + 2] = 'alias', alias end
for i = 12, #ARGV do record[#record + 1] = ARGV[i] end
redis.call('XADD', changes, '*', 'actorId', actor_id, 'actorName', actor[1],
  'kind', expected == 0 and 'created' or 'updated', 'resourceType', 'agent', 'resourceId', id,
  'before', before, 'after', after, 'sequence', sequence, 'reason', reason,
  'via', actor[2] or '', 'person', actor[3] or '')
redis.call('DEL', agent)
redis.call('HSET', agent, unpack(record))
redis.call('ZADD', agents, string.format('%.0f', created_ms), id)
if old_alias ~= '' and old_alias ~= alias and redis.call('HGET', aliases, old_alias) == id then
  redis.call('HDEL', aliases, old_alias)
end
if alias ~= '' then redis.call('HSET', aliases, alias, id) end
return {'done', created_ms, updated_ms, revision}
