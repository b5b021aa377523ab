#!lua
--[[
put_policy: create a policy, or replace one that has not changed since it was read.

KEYS[1]       caller_key      hash; record of the caller's API key; missing = revoked
KEYS[2]       changes         stream; the trail of changes
KEYS[3]       owner           hash; record of its owner (agent, group or workspace), which counts the rate limits and
                              bytes of the owner's policies
KEYS[4]       tokens          hash that holds the owner's version token: an agent's record itself, else `commits`
KEYS[5]       policy          hash; the policy's record
KEYS[6]       owner_policies  sorted set; member = policy id, score as below
KEYS[7]       policies        the same for all policies of the workspace
KEYS[8]       commits         hash; holds the sequence of the log's newest entry, and in `workspace` the version
                              token of what applies to every agent
KEYS[9]       versions        list; ids of the policy's changes in the trail, newest first
KEYS[10]      marks           hash; what enabled policies name in `forbiddenAfter` -> how many policies name it
KEYS[10+i]    dropped_quota   list; bucket of a rate limit that the new rules no longer have, in either mode

ARGV[1]       actor_id        id of the caller's API key; "console" = none
ARGV[2]       before          for the trail: JSON of the fields that change; "" = create
ARGV[3]       after           for the trail: JSON of those fields afterwards
ARGV[4]       expected        policy version that the caller read; 0 = create
ARGV[5]       token_field     field of `tokens` that holds the owner's version token
ARGV[6]       version_token   the new one
ARGV[7]       id              policy id
ARGV[8]       agent_id        the agent it governs; "" = a group or the workspace
ARGV[9]       group           the group it governs; "" = an agent or the workspace
ARGV[10]      kind            grant or guardrail
ARGV[11]      name
ARGV[12]      rules           JSON, passed through as bytes
ARGV[13]      priority        0 to 1000
ARGV[14]      enabled         1 or 0
ARGV[15]      rate_limits     how many of the rules are rate limits
ARGV[16]      limits_read     how many of the rules that the caller read are rate limits; 0 = create
ARGV[17]      limits_max      rate limits that the owner may have, over all its policies
ARGV[18]      rules_max       bytes of rules that the owner may have, over all its policies
ARGV[19]      per_owner_max   policies that the owner may have
ARGV[20]      policies_max    policies that the workspace may have
ARGV[21]      reason          for the trail: why it is changed; "" = not given
ARGV[22]      versions_max    how many versions are kept
ARGV[23]      new_marks       fields of `marks` that the policy names now and did not before, separated by line feeds
ARGV[24]      old_marks       fields of `marks` that the policy named before and does not now, in the same form
ARGV[25]      marks_max       fields that `marks` may have
ARGV[26]      key             the policy's key; "" = none
ARGV[27]      agent_message   what an agent is told when this policy denies or escalates its call; "" = nothing
ARGV[28]      keys_token      the owner's version token at which no other policy of it had the key, "0" = there was no
                              token; "" = the key does not change
ARGV[29]      shadow          on or off: a shadow policy that is enabled or not (`enabled` is then 0); "" = enforced

RETURNS       {status, created_ms, updated_ms, version}
  done        the record is as given, with these times and this version
  revoked     the caller's key is gone; nothing written, numbers are 0
  no_agent    the agent does not exist; nothing written, numbers are 0
  stale       the policy is not at `expected` (changed or gone), or the owner not at keys_token; nothing written,
              numbers are 0
  frozen      the agent is being deleted; nothing written, numbers are 0
  owner_full  the owner has per_owner_max policies; nothing written, numbers are 0
  full        the workspace has policies_max policies; nothing written, numbers are 0
  rate_full   there would be more rate limits than before, and more than limits_max; nothing written, numbers are 0
  rules_full  the rules would be longer than before, and the owner's rules longer than rules_max; nothing written,
              numbers are 0
  marks_full  there would be more marks than before, and more than marks_max; nothing written, numbers are 0
WRITES        changes, policy, both sorted sets, the owner's version token and counts, versions, marks, dropped buckets;
              the workspace's version token if a mark is named for the first time or no longer
TIME          O(log N), N policies of the workspace
HOLDS         I8 an acknowledged change binds every later decision, I13 no change without its entry in the trail

The score gives the order of evaluation, highest priority first and then oldest first:
(1000 - priority) * 2^42 + created_ms; exact in a double until the year 2109.

The owner's rate_limits and rules_bytes are the sums over its policies. A policy that an older release wrote without
counts is not in these sums until it is changed, so until then its agent may have that much more.
]]
assert(#KEYS >= 10 and #ARGV == 29, 'ARITY')
local caller_key, changes = KEYS[1], KEYS[2]
local owner, tokens, policy, owner_policies, policies = KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local commits, versions, marks = KEYS[8], KEYS[9], KEYS[10]
local actor_id, before, after = ARGV[1], ARGV[2], ARGV[3]
local expected, token_field, version_token = tonumber(ARGV[4]), ARGV[5], ARGV[6]
local id, agent_id, group, kind = ARGV[7], ARGV[8], ARGV[9], ARGV[10]
local name, rules, priority, enabled = ARGV[11], ARGV[12], ARGV[13], ARGV[14]
local rate_limits, limits_read, limits_max = tonumber(ARGV[15]), tonumber(ARGV[16]), tonumber(ARGV[17])
local rules_max, per_owner_max, policies_max = tonumber(ARGV[18]), tonumber(ARGV[19]), tonumber(ARGV[20])
local reason, versions_max = ARGV[21], tonumber(ARGV[22])
local new_marks, old_marks, marks_max = ARGV[23], ARGV[24], tonumber(ARGV[25])
local key, agent_message, keys_token, shadow = ARGV[26], ARGV[27], ARGV[28], ARGV[29]
local clock = redis.call('TIME')
local now_ms = clock[1] * 1000 + math.floor(clock[2] / 1000)

local actor_name = actor_id == 'console' and actor_id or redis.call('HGET', caller_key, 'name')
if not actor_name then return {'revoked', 0, 0, 0} end
local token_held = redis.call('HGET', tokens, token_field)
if agent_id ~= '' and not token_held then return {'no_agent', 0, 0, 0} end
if keys_token ~= '' and (token_held or '0') ~= keys_token then return {'stale', 0, 0, 0} end
local held = redis.call('HMGET', policy, 'version', 'created_ms', 'updated_ms', 'rate_limits', 'rules_bytes', 'rules')
if tonumber(held[1] or 0) ~= expected then return {'stale', 0, 0, 0} end
-- Frozen: the agent is being deleted. A freeze that ends over a second from now dates from before a clock step.
local frozen_ms = tonumber(redis.call('HGET', owner, 'frozen_until_ms') or 0) - now_ms
if frozen_ms > 0 and frozen_ms <= 1000 then return {'frozen', 0, 0, 0} end
-- Scripts do not roll back: a key of the wrong type must fail before the first write.
local owner_held, policies_held = redis.call('ZCARD', owner_policies), redis.call('ZCARD', policies)
redis.call('LLEN', versions)
local sequence = redis.call('HGET', commits, 'sequence') or '0'
if expected == 0 and owner_held >= per_owner_max then return {'owner_full', 0, 0, 0} end
if expected == 0 and policies_held >= policies_max then return {'full', 0, 0, 0} end
-- Disabled policies count too. Never below 0, because an older release writes agents without counts.
local counts = redis.call('HMGET', owner, 'rate_limits', 'rules_bytes')
local limits_counted = math.max(0, tonumber(counts[1] or 0) - tonumber(held[4] or 0)) + rate_limits
local bytes_counted = math.max(0, tonumber(counts[2] or 0) - tonumber(held[5] or 0)) + #rules
-- A policy over the limit can still be edited, if the limit was lowered since or the policy was not counted before.
if rate_limits > limits_read and limits_counted > limits_max then return {'rate_full', 0, 0, 0} end
if #rules > #(held[6] or '') and bytes_counted > rules_max then return {'rules_full', 0, 0, 0} end
-- The marks that every agent's calls must leave change when a first policy names one or a last one drops it.
local delta, more_marks, binds_all = {}, 0, false
for mark in string.gmatch(new_marks, '[^\n]+') do delta[mark] = (delta[mark] or 0) + 1 end
for mark in string.gmatch(old_marks, '[^\n]+') do delta[mark] = (delta[mark] or 0) - 1 end
for mark, change in pairs(delta) do
  local named = tonumber(redis.call('HGET', marks, mark) or 0)
  if named == 0 and change > 0 then more_marks, binds_all = more_marks + 1, true end
  if named > 0 and named + change <= 0 then more_marks, binds_all = more_marks - 1, true end
end
if redis.call('HLEN', marks) + more_marks > marks_max and more_marks > 0 then return {'marks_full', 0, 0, 0} end
local created_ms = tonumber(held[2] or now_ms)
-- Strictly later than before, so that two changes within a millisecond can be told apart.
local updated_ms = held[3] and math.max(now_ms, tonumber(held[3]) + 1) or now_ms
local score = string.format('%.0f', (1000 - tonumber(priority)) * 4398046511104 + created_ms)

local change_id = redis.call('XADD', changes, '*', 'actorId', actor_id, 'actorName', actor_name,
  'kind', expected == 0 and 'created' or 'updated', 'resourceType', 'policy', 'resourceId', id,
  'before', before, 'after', after, 'sequence', sequence, unpack(reason == '' and {} or {'reason', reason}))
redis.call('HSET', policy, 'id', id, 'agent_id', agent_id, 'group', group, 'policy_kind', kind, 'name', name,
  'rules', rules, 'priority', priority, 'enabled', enabled, 'created_ms', string.format('%.0f', created_ms),
  'updated_ms', string.format('%.0f', updated_ms), 'version', expected + 1, 'rate_limits', rate_limits,
  'rules_bytes', #rules, 'key', key, 'agent_message', agent_message, 'shadow', shadow)
redis.call('ZADD', owner_policies, score, id)
redis.call('ZADD', policies, score, id)
redis.call('HSET', tokens, token_field, version_token)
redis.call('HSET', owner, 'rate_limits', limits_counted, 'rules_bytes', bytes_counted)
redis.call('LPUSH', versions, change_id)
redis.call('LTRIM', versions, 0, versions_max - 1)
for mark, change in pairs(delta) do
  if redis.call('HINCRBY', marks, mark, change) <= 0 then redis.call('HDEL', marks, mark) end
end
-- Every plan made before is now stale, whichever agent it is for.
if binds_all then redis.call('HSET', commits, 'workspace', version_token) end
for i = 11, #KEYS do redis.call('DEL', KEYS[i]) end
return {'done', created_ms, updated_ms, expected + 1}
