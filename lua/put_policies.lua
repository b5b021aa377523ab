#!lua
--[[
put_policies: create, change and delete policies of one owner in one step, if none of them has changed since they were
read.

KEYS[1]       caller_key      hash; record of the caller's API key, or of the one that approves; missing = revoked
KEYS[2]       changes         stream; the trail of changes
KEYS[3]       owner           hash; record of their owner (agent, group or workspace), which counts the rate limits and
                              bytes of the owner's policies
KEYS[4]       tokens          hash with the owner's version token: an agent's record itself, else `commits`
KEYS[5]       owner_policies  sorted set; member = policy id, score as below
KEYS[6]       policies        the same for all policies of the workspace
KEYS[7]       commits         hash; has the sequence of the log's newest entry, and in `workspace` the version
                              token of what applies to every agent
KEYS[8]       marks           hash; what enabled policies name in `forbiddenAfter` -> how many policies name it
KEYS[8+i]     record          hash; record of policy i. After these come, for each policy, the list of its changes in the
                              trail; then the buckets that no rule has any more (lists) and the counts of divergences of
                              deleted policies (hashes)
KEYS[#KEYS]   review          hash; record of the review that is approved; this and the next two only then
KEYS[#KEYS]   waiting         sorted set; reviews that are pending, "<root of whoever asked> <id>"; score = ms at which they
                              expire
KEYS[#KEYS]   asker           any; with the end of this record, the review ends

ARGV[1]       actor_id        id of the API key that makes the change, or has asked for it; "console" = none
ARGV[2]       reason          for the trail: why they are changed; "" = not given
ARGV[3]       token_field     field of `tokens` with the owner's version token
ARGV[4]       expected        version token that the caller read with other policies of the owner, "0" = there was none;
                              "" = other policies do not matter
ARGV[5]       version_token   the new one
ARGV[6]       rate_limits     how many rate limits these policies have afterwards
ARGV[7]       limits_read     how many they had when they were read
ARGV[8]       rules_bytes     how many bytes the rules of these policies take afterwards
ARGV[9]       bytes_read      how many they took when they were read
ARGV[10]      limits_max      rate limits that the owner may have, over all its policies
ARGV[11]      rules_max       bytes of rules that the owner may have, over all its policies
ARGV[12]      per_owner_max   policies that the owner may have
ARGV[13]      policies_max    policies that the workspace may have
ARGV[14]      versions_max    how many versions of a policy are kept
ARGV[15]      new_marks       fields of `marks` that a policy names now and did not before, separated by line feeds; once
                              for each policy
ARGV[16]      old_marks       fields of `marks` that a policy named before and does not now, in the same form
ARGV[17]      marks_max       fields that `marks` may have
ARGV[18]      policy_count    how many policies are created, changed or deleted
ARGV[18+i]    part            for each policy: its id; the version that was read, 0 = new; before and after, for the
                              trail: JSON, "" = none; its priority; how many parts follow; these are fields and values
                              of its record, without its times
ARGV[#ARGV]   review_id       of the review that is approved; this and what follows only then
ARGV[#ARGV]   approver_id     id of the API key that approves; "console" = none
ARGV[#ARGV]   approved_by     JSON of who approves, for the trail and for people
ARGV[#ARGV]   note            given with the approval; "" = none
ARGV[#ARGV]   review_before   for the trail: JSON of the review's status now
ARGV[#ARGV]   review_after    for the trail: JSON of its status then
ARGV[#ARGV]   others          what else was read: a line for each version token of `commits`, its field, a space, and the
                              token, "0" = there was none
ARGV[#ARGV]   keep_ms         how long the review's record stays

RETURNS       {status, now_ms}
  done        everything is as given; created_ms of new policies is now_ms, and updated_ms of changed ones is now_ms or
              one more than before, whichever is later
  revoked     the caller's key is gone; nothing written, now_ms is 0
  stale       a policy is not at the version that was read (changed or gone), or a version token is not as expected;
              nothing written but that of a review, which is stale then; now_ms is 0
  no_agent    the agent does not exist; nothing written, now_ms is 0
  frozen      the agent is being deleted; nothing written, now_ms is 0
  owner_full  the owner would have more than per_owner_max policies; nothing written, now_ms is 0
  full        the workspace would have more than policies_max policies; nothing written, now_ms is 0
  rate_full   there would be more rate limits than before, and more than limits_max; nothing written, now_ms is 0
  rules_full  the rules would be longer than before, and the owner's rules longer than rules_max; nothing written, now_ms
              is 0
  marks_full  there would be more marks than before, and more than marks_max; nothing written, now_ms is 0
  missing     there is no such review; nothing written, now_ms is 0
  decided     the review is no longer pending; nothing written, now_ms is 0
  expired     nobody approved it in time; nothing written, now_ms is 0
  ended       the key that asked is gone; nothing written but that the review is cancelled, now_ms is 0
  own         the key that approves counts as the one that asked; nothing written, now_ms is 0
WRITES        changes, the records, the lists of their changes, both sorted sets, the owner's version token and counts,
              marks, dropped buckets; the workspace's version token if a mark is named for the first time or no longer.
              A group or workspace whose last policy goes loses its token and counts; a workspace with marks keeps its
              token. Of a review: review, waiting
TIME          O(P log N), P policies that change, N of the workspace
HOLDS         I8 an acknowledged change binds every later decision, I13 no change without its entry in the trail,
              I20 no policy binds under review without a second person

The score gives the order of evaluation, highest priority first and then oldest first:
(1000 - priority) * 2^42 + created_ms; exact in a double until the year 2109.

The owner's rate_limits and rules_bytes are the sums over its policies.

`delete_policies` is the same script for deletions alone, which also a store at its maxmemory runs.

Two keys count as one person if they have the same root, or one's root has made the other.
]]
assert(#KEYS >= 8 and #ARGV >= 18, 'ARITY')
local caller_key, changes = KEYS[1], KEYS[2]
local owner, tokens, owner_policies, policies, commits = KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local marks = KEYS[8]
local actor_id, reason = ARGV[1], ARGV[2]
local token_field, expected, version_token = ARGV[3], ARGV[4], ARGV[5]
local rate_limits, limits_read = tonumber(ARGV[6]), tonumber(ARGV[7])
local rules_bytes, bytes_read = tonumber(ARGV[8]), tonumber(ARGV[9])
local limits_max, rules_max = tonumber(ARGV[10]), tonumber(ARGV[11])
local per_owner_max, policies_max, versions_max = tonumber(ARGV[12]), tonumber(ARGV[13]), tonumber(ARGV[14])
local new_marks, old_marks, marks_max = ARGV[15], ARGV[16], tonumber(ARGV[17])
local policy_count, parts = tonumber(ARGV[18]), 19
local last_bucket = #KEYS
local clock = redis.call('TIME')
local now_ms = clock[1] * 1000 + math.floor(clock[2] / 1000)

-- What to do with each policy, and what its record has now.
local steps, more, limits_held, bytes_held = {}, 0, 0, 0
for i = 1, policy_count do
  local stored = redis.call('HMGET', KEYS[8 + i], 'version', 'created_ms', 'updated_ms', 'rate_limits', 'rules_bytes')
  local step = {id = ARGV[parts], read = ARGV[parts + 1], before = ARGV[parts + 2], after = ARGV[parts + 3],
    priority = tonumber(ARGV[parts + 4]), first = parts + 6, version = stored[1] or '0',
    created_ms = tonumber(stored[2] or now_ms), updated_ms = tonumber(stored[3] or 0)}
  step.kind = step.after == '' and 'deleted' or step.read == '0' and 'created' or 'updated'
  redis.call('LLEN', KEYS[8 + policy_count + i])
  more = more + (step.kind == 'created' and 1 or step.kind == 'deleted' and -1 or 0)
  limits_held, bytes_held = limits_held + tonumber(stored[4] or 0), bytes_held + tonumber(stored[5] or 0)
  parts = step.first + tonumber(ARGV[parts + 5])
  step.last = parts - 1
  steps[i] = step
end

local review_id, approver_id, approved_by, note = ARGV[parts], ARGV[parts + 1], ARGV[parts + 2], ARGV[parts + 3]
local review_before, review_after, others = ARGV[parts + 4], ARGV[parts + 5], ARGV[parts + 6]
local keep_ms, caller_id = ARGV[parts + 7], approver_id or actor_id
local caller = caller_id == 'console' and {caller_id}
  or redis.call('HMGET', caller_key, 'name', 'via', 'person', 'root', 'made_by', 'expires_ms')
if not caller[1] then return {'revoked', 0} end
local actor, review, waiting, asker = caller, KEYS[#KEYS - 2], KEYS[#KEYS - 1], KEYS[#KEYS]
local function ended(verdict, decided_by, said)
  redis.call('HSET', review, 'status', verdict, 'ended_ms', string.format('%.0f', now_ms), 'decided_by', decided_by,
    'note', said)
  redis.call('ZREM', waiting, (redis.call('HGET', review, 'root') or '') .. ' ' .. review_id)
  redis.call('PEXPIRE', review, keep_ms)
end
if review_id then
  last_bucket = #KEYS - 3
  if caller[6] and not (now_ms < tonumber(caller[6])) then return {'revoked', 0} end
  local asked = redis.call('HMGET', review, 'status', 'expires_ms', 'root', 'made_by', 'asked_name', 'asked_via',
    'asked_person')
  redis.call('ZCARD', waiting)
  if not asked[1] then return {'missing', 0} end
  if asked[1] ~= 'pending' then return {'decided', 0} end
  if not (now_ms < tonumber(asked[2])) then return {'expired', 0} end
  local root, made_by = caller[4] or caller_id, caller[5] or ''
  local function has(roots, one) return string.find(' ' .. roots .. ' ', ' ' .. one .. ' ', 1, true) end
  if root == asked[3] or has(made_by, asked[3]) or has(asked[4], root) then return {'own', 0} end
  if redis.call('EXISTS', asker) == 0 then
    ended('cancelled', '', '')
    return {'ended', 0}
  end
  actor = {asked[5], asked[6], asked[7]}
end
local token_held = redis.call('HGET', tokens, token_field)
local is_stale = expected ~= '' and (token_held or '0') ~= expected
for _, step in ipairs(steps) do is_stale = is_stale or step.version ~= step.read end
for field, token in string.gmatch(others or '', '(%S+) (%S+)') do
  is_stale = is_stale or (redis.call('HGET', commits, field) or '0') ~= token
end
if is_stale then
  if review_id then ended('stale', '', '') end
  return {'stale', 0}
end
if tokens == owner and not token_held then return {'no_agent', 0} end
-- Frozen: the agent is being deleted. A freeze that ends over a second from now dates from before a clock step.
local frozen_ms = tonumber(redis.call('HGET', owner, 'frozen_until_ms') or 0) - now_ms
if frozen_ms > 0 and frozen_ms <= 1000 then return {'frozen', 0} end
-- Scripts do not roll back: a key of the wrong type must fail before the first write.
local owner_held, policies_held = redis.call('ZCARD', owner_policies), redis.call('ZCARD', policies)
local sequence = redis.call('HGET', commits, 'sequence') or '0'
if more > 0 and owner_held + more > per_owner_max then return {'owner_full', 0} end
if more > 0 and policies_held + more > policies_max then return {'full', 0} end
-- Disabled policies count too.
local counts = redis.call('HMGET', owner, 'rate_limits', 'rules_bytes')
local limits_counted = tonumber(counts[1] or 0) - limits_held + rate_limits
local bytes_counted = tonumber(counts[2] or 0) - bytes_held + rules_bytes
-- Policies over the limit can still be edited, if the limit was lowered since.
if rate_limits > limits_read and limits_counted > limits_max then return {'rate_full', 0} end
if rules_bytes > bytes_read and bytes_counted > rules_max then return {'rules_full', 0} end
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

if review_id then
  redis.call('XADD', changes, '*', 'actorId', caller_id, 'actorName', caller[1], 'kind', 'updated',
    'resourceType', 'policy_review', 'resourceId', review_id, 'before', review_before, 'after', review_after,
    'reason', note, 'via', caller[2] or '', 'person', caller[3] or '')
  ended('applied', approved_by, note)
end
for i, step in ipairs(steps) do
  local change_id = redis.call('XADD', changes, '*', 'actorId', actor_id, 'actorName', actor[1], 'kind', step.kind,
    'resourceType', 'policy', 'resourceId', step.id, 'before', step.before, 'after', step.after,
    'sequence', sequence, 'reason', reason, 'via', actor[2] or '', 'person', actor[3] or '',
    unpack(review_id and {'approvedBy', approved_by} or {}))
  if step.kind == 'deleted' then
    redis.call('ZREM', owner_policies, step.id)
    redis.call('ZREM', policies, step.id)
    redis.call('DEL', KEYS[8 + i], KEYS[8 + policy_count + i])
  else
    -- Strictly later than before, so that two changes within a millisecond can be told apart.
    local updated_ms = math.max(now_ms, step.updated_ms + 1)
    local score = string.format('%.0f', (1000 - step.priority) * 4398046511104 + step.created_ms)
    local fields = {'created_ms', string.format('%.0f', step.created_ms), 'updated_ms', string.format('%.0f', updated_ms)}
    for n = step.first, step.last do fields[#fields + 1] = ARGV[n] end
    redis.call('HSET', KEYS[8 + i], unpack(fields))
    redis.call('LPUSH', KEYS[8 + policy_count + i], change_id)
    redis.call('LTRIM', KEYS[8 + policy_count + i], 0, versions_max - 1)
    redis.call('ZADD', owner_policies, score, step.id)
    redis.call('ZADD', policies, score, step.id)
  end
end
for mark, change in pairs(delta) do
  if redis.call('HINCRBY', marks, mark, change) <= 0 then redis.call('HDEL', marks, mark) end
end
-- Every plan made before is now stale, whichever agent it is for.
if binds_all then redis.call('HSET', commits, 'workspace', version_token) end
local is_emptied = more < 0 and owner_held + more == 0
if tokens ~= owner and is_emptied and (token_field ~= 'workspace' or redis.call('EXISTS', marks) == 0) then
  -- Without policies and marks there is no token, whatever there was before.
  redis.call('HDEL', tokens, token_field)
  redis.call('HDEL', owner, 'rate_limits', 'rules_bytes')
else
  redis.call('HSET', tokens, token_field, version_token)
  redis.call('HSET', owner, 'rate_limits', limits_counted, 'rules_bytes', bytes_counted)
end
for i = 9 + 2 * policy_count, last_bucket do redis.call('DEL', KEYS[i]) end
return {'done', now_ms}
