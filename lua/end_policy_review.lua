#!lua flags=allow-oom
--[[
end_policy_review: a change of policies that waits for a second person is denied, cancelled or too old, and is not made.

KEYS[1]       caller_key      hash; record of the API key that denies or cancels; missing = revoked
KEYS[2]       changes         stream; the trail of changes
KEYS[3]       review          hash; the review's record
KEYS[4]       waiting         sorted set; reviews that are pending, "<root of whoever asked> <id>"; score = ms at which they
                              expire

ARGV[1]       actor_id        id of the API key that denies or cancels; "console" = none; "" = nobody: it has lost what it
                              depends on
ARGV[2]       id              of the review
ARGV[3]       verdict         denied, cancelled; of nobody: cancelled, stale
ARGV[4]       note            "" = none
ARGV[5]       before          for the trail: JSON of its status now
ARGV[6]       after           for the trail: JSON of the verdict
ARGV[7]       decided_by      JSON of who denies or cancels, for people
ARGV[8]       keep_ms         how long the record stays

RETURNS       {status}
  done        the verdict is in the record, and in the trail if somebody gave it
  revoked     the key is gone; nothing written
  missing     there is no such review; nothing written
  decided     it is no longer pending; nothing written
  expired     nobody approved it in time; nothing written
  own         the key that denies counts as the one that asked; nothing written
  not_own     only the key that asked, or one with its root, may cancel; nothing written
WRITES        changes, review, waiting
TIME          O(log N), N reviews that are pending
HOLDS         I13 no change without its entry in the trail
]]
assert(#KEYS == 4 and #ARGV == 8, 'ARITY')
local caller_key, changes, review, waiting = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local actor_id, id, verdict, note = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local before, after, decided_by, keep_ms = ARGV[5], ARGV[6], ARGV[7], ARGV[8]
local clock = redis.call('TIME')
local now_ms = clock[1] * 1000 + math.floor(clock[2] / 1000)

local actor = (actor_id == 'console' or actor_id == '') and {actor_id}
  or redis.call('HMGET', caller_key, 'name', 'via', 'person', 'root', 'made_by')
if not actor[1] then return {'revoked'} end
local asked = redis.call('HMGET', review, 'status', 'expires_ms', 'root', 'made_by')
if not asked[1] then return {'missing'} end
if asked[1] ~= 'pending' then return {'decided'} end
if not (now_ms < tonumber(asked[2])) then return {'expired'} end
local root, made_by = actor[4] or actor_id, actor[5] or ''
local function has(roots, one) return string.find(' ' .. roots .. ' ', ' ' .. one .. ' ', 1, true) end
if verdict == 'denied' and (root == asked[3] or has(made_by, asked[3]) or has(asked[4], root)) then return {'own'} end
if verdict == 'cancelled' and actor_id ~= '' and root ~= asked[3] then return {'not_own'} end
-- Scripts do not roll back: a key of the wrong type must fail before the first write.
redis.call('ZCARD', waiting)

if actor_id ~= '' then
  redis.call('XADD', changes, '*', 'actorId', actor_id, 'actorName', actor[1], 'kind', 'updated',
    'resourceType', 'policy_review', 'resourceId', id, 'before', before, 'after', after,
    'reason', note, 'via', actor[2] or '', 'person', actor[3] or '')
  redis.call('HSET', review, 'decided_by', decided_by, 'note', note)
end
redis.call('HSET', review, 'status', verdict, 'ended_ms', string.format('%.0f', now_ms))
redis.call('ZREM', waiting, (asked[3] or '') .. ' ' .. id)
redis.call('PEXPIRE', review, keep_ms)
return {'done'}
