#!lua
--[[
put_policies: create, change and delete policies of one owner in one step, if none of them has changed since they were
read.

KEYS[1]       caller_key      hash; record of the caller's API key; missing = revoked
KEYS[2]       changes         stream; the trail of changes
KEYS[3]       owner           hash; record of their owner (agent, group or workspace), which counts the rate limits and
                              bytes of the owner's policies
KEYS[4]       tokens          hash that holds the owner's version token: an agent's record itself, else `commits`
KEYS[5]       owner_policies  sorted set; member = policy id, score as in put_policy
KEYS[6]       policies        the same for all policies of the workspace
KEYS[7]       commits         hash; holds the sequence of the log's newest entry, and in `workspace` the version
                              token of what applies to every agent
KEYS[8]       marks           hash; what enabled policies name in `forbiddenAfter` -> how many policies name it
KEYS[8+i]     record          hash; record of policy i. After these come, for each policy, the list of its changes in the
                              trail; then the buckets that no rule has any more (lists) and the counts of divergences of
                              deleted policies (hashes)

ARGV[1]       actor_id        id of the caller's API key; "console" = none
ARGV[2]       token_field     field of `tokens` that holds the owner's version token
ARGV[3]       expected        version token that the caller read with the policies; "" = there was none
ARGV[4]       version_token   the new one
ARGV[5]       rate_limits     how many rate limits the owner's rules have afterwards
ARGV[6]       rules_bytes     how many bytes the owner's rules take afterwards
ARGV[7]       policies_max    policies that the workspace may have
ARGV[8]       policy_count    how many policies are created, changed or deleted
ARGV[9]       reason          for the trail: why they are changed; "" = not given
ARGV[10]      versions_max    how many versions of a policy are kept
ARGV[11]      new_marks       fields of `marks` that a policy names now and did not before, separated by line feeds; once
                              for each policy
ARGV[12]      old_marks       fields of `marks` that a policy named before and does not now, in the same form
ARGV[13]      marks_max       fields that `marks` may have
ARGV[13+i]    part            for each policy: its id; before and after, for the trail: JSON, "" = none; its priority;
                              created_ms and updated_ms as they were read, 0 = new; how many parts follow; these are
                              fields and values of its record, without the two times

RETURNS       {status, now_ms}
  done        everything is as given; created_ms of new policies is now_ms, and updated_ms of changed ones is now_ms or
              one more than before, whichever is later
  revoked     the caller's key is gone; nothing written, now_ms is 0
  no_agent    the agent does not exist; nothing written, now_ms is 0
  stale       the version token is not `expected`; nothing written, now_ms is 0
  frozen      the agent is being deleted; nothing written, now_ms is 0
  full        the workspace would have more than policies_max policies; nothing written, now_ms is 0
  marks_full  there would be more marks than before, and more than marks_max; nothing written, now_ms is 0
WRITES        changes, the records, the lists of their changes, both sorted sets, the owner's version token and counts,
              marks, dropped buckets; the workspace's version token if a mark is named for the first time or no longer.
              A group or workspace whose last policy goes loses its token and counts; a workspace with marks keeps its
              token
TIME          O(P log N), P policies that change, N of the workspace
HOLDS         I8 an acknowledged change binds every later decision, I13 no change without its entry in the trail

Every change of an owner's policies replaces its version token, so what the caller counted (bytes, rate limits and
policies of the owner) is right while the token is `expected`.
]]
assert(#KEYS >= 8 and #ARGV >= 13, 'ARITY')
local caller_key, changes = KEYS[1], KEYS[2]
local owner, tokens, owner_policies, policies, commits = KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local marks = KEYS[8]
local actor_id, token_field, expected, version_token = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local rate_limits, rules_bytes = ARGV[5], ARGV[6]
local policies_max, policy_count = tonumber(ARGV[7]), tonumber(ARGV[8])
local reason, versions_max = ARGV[9], tonumber(ARGV[10])
local new_marks, old_marks, marks_max = ARGV[11], ARGV[12], tonumber(ARGV[13])
local clock = redis.call('TIME')
local now_ms = clock[1] * 1000 + math.floor(clock[2] / 1000)

local actor_name = actor_id == 'console' and actor_id or redis.call('HGET', caller_key, 'name')
if not actor_name then return {'revoked', 0} end
local token_held = redis.call('HGET', tokens, token_field)
if tokens == owner and not token_held then return {'no_agent', 0} end
if (token_held or '') ~= expected then return {'stale', 0} end
-- Frozen: the agent is being deleted. A freeze that ends over a second from now dates from before a clock step.
local frozen_ms = tonumber(redis.call('HGET', owner, 'frozen_until_ms') or 0) - now_ms
if frozen_ms > 0 and frozen_ms <= 1000 then return {'frozen', 0} end
-- Scripts do not roll back: a key of the wrong type must fail before the first write.
local owner_held, policies_held = redis.call('ZCARD', owner_policies), redis.call('ZCARD', policies)
local sequence = redis.call('HGET', commits, 'sequence') or '0'
local more, at = 0, 14
for i = 1, policy_count do
  redis.call('HLEN', KEYS[8 + i])
  redis.call('LLEN', KEYS[8 + policy_count + i])
  local after, created_ms, follow = ARGV[at + 2], tonumber(ARGV[at + 4]), tonumber(ARGV[at + 6])
  if after == '' then more = more - 1 elseif created_ms == 0 then more = more + 1 end
  at = at + 7 + follow
end
if more > 0 and policies_held + more > policies_max then return {'full', 0} end
-- The marks that every agent's calls must leave change when a first policy names one or a last one drops it.
local delta, more_marks, binds_all = {}, 0, false
for mark in string.gmatch(new_marks, '[^\n]+') do delta[mark] = (delta[mark] or 0) + 1 end
for mark in string.gmatch(old_marks, '[^\n]+') do delta[mark] = (delta[mark] or 0) - 1 end
for mark, change in pairs(delta) do
  local named = tonumber(redis.call('HGET', marks, mark) or 0)
  if named == 0 and change > 0 then more_marks, binds_all = more_marks + 1, true end
  if named > 0 and named + change <= 0 then more_marks, binds_all = more_marks - 1, true end
end
if redis.call('HLEN', marks) + more_marks > marks_max and more_marks > 0 then return {'marks_full', 0} end

at = 14
for i = 1, policy_count do
  local record, place = KEYS[8 + i], 8 + policy_count + i
  local id, before, after = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local priority, created_ms = tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
  local updated_ms, follow = tonumber(ARGV[at + 5]), tonumber(ARGV[at + 6])
  local kind = after == '' and 'deleted' or created_ms == 0 and 'created' or 'updated'
  local change_id = redis.call('XADD', changes, '*', 'actorId', actor_id, 'actorName', actor_name, 'kind', kind,
    'resourceType', 'policy', 'resourceId', id, 'before', before, 'after', after,
    'sequence', sequence, unpack(reason == '' and {} or {'reason', reason}))
  if kind == 'deleted' then
    redis.call('ZREM', owner_policies, id)
    redis.call('ZREM', policies, id)
    redis.call('DEL', record, KEYS[place])
  else
    local born_ms = kind == 'created' and now_ms or created_ms
    local score = string.format('%.0f', (1000 - priority) * 4398046511104 + born_ms)
    local fields = {'created_ms', string.format('%.0f', born_ms),
      'updated_ms', string.format('%.0f', math.max(now_ms, updated_ms + 1))}
    for n = at + 7, at + 6 + follow do fields[#fields + 1] = ARGV[n] end
    redis.call('HSET', record, unpack(fields))
    redis.call('LPUSH', KEYS[place], change_id)
    redis.call('LTRIM', KEYS[place], 0, versions_max - 1)
    redis.call('ZADD', owner_policies, score, id)
    redis.call('ZADD', policies, score, id)
  end
  at = at + 7 + follow
end
for mark, change in pairs(delta) do
  if redis.call('HINCRBY', marks, mark, change) <= 0 then redis.call('HDEL', marks, mark) end
end
-- Every plan made before is now stale, whichever agent it is for.
if binds_all then redis.call('HSET', commits, 'workspace', version_token) end
if tokens ~= owner and owner_held + more == 0 and (token_field ~= 'workspace' or redis.call('EXISTS', marks) == 0) then
  -- Without policies and marks there is no token, whatever there was before.
  redis.call('HDEL', tokens, token_field)
  redis.call('HDEL', owner, 'rate_limits', 'rules_bytes')
else
  redis.call('HSET', tokens, token_field, version_token)
  redis.call('HSET', owner, 'rate_limits', rate_limits, 'rules_bytes', rules_bytes)
end
for i = 9 + 2 * policy_count, #KEYS do redis.call('DEL', KEYS[i]) end
return {'done', now_ms}
