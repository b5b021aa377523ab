#!lua
--[[
ask_policy_review: a change of policies waits for a second person.

KEYS[1]       caller_key      hash; record of the API key that asks; missing = revoked
KEYS[2]       changes         stream; the trail of changes
KEYS[3]       review          hash; the new review's record
KEYS[4]       reviews         sorted set; ids of all reviews, each with score 0
KEYS[5]       waiting         sorted set; those that are pending, "<root of whoever asked> <id>"; score = ms at which they
                              expire

ARGV[1]       actor_id        id of the API key that asks; "console" = none
ARGV[2]       id              of the review
ARGV[3]       after           for the trail: JSON of what is asked
ARGV[4]       reason          why the policies are to be changed; "" = not given
ARGV[5]       waiting_max     reviews of the workspace that may be pending; of one root, half of them
ARGV[6]       valid_ms        how long it can be approved
ARGV[7]       keep_ms         how long the record stays after that
ARGV[6+2i]    field           field i of the record
ARGV[7+2i]    value           value i; all that this script does not know

RETURNS       {status}
  done        the review is pending
  revoked     the key that asks is gone; nothing written
  full        waiting_max are pending; nothing written
  share       half of waiting_max are pending for this root; nothing written
WRITES        changes, review, reviews, waiting without those that have expired
TIME          O(log N + E + W), N reviews, E that have expired, W that are pending
HOLDS         I13 no change without its entry in the trail
]]
assert(#KEYS == 5 and #ARGV >= 7 and #ARGV % 2 == 1, 'ARITY')
local caller_key, changes, review, reviews, waiting = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local actor_id, id, after, reason = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local waiting_max, valid_ms, keep_ms = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local clock = redis.call('TIME')
local now_ms = clock[1] * 1000 + math.floor(clock[2] / 1000)
local now, expires_ms = string.format('%.0f', now_ms), string.format('%.0f', now_ms + valid_ms)

local actor = actor_id == 'console' and {actor_id}
  or redis.call('HMGET', caller_key, 'name', 'via', 'person', 'root', 'made_by')
if not actor[1] then return {'revoked'} end
local root, own = actor[4] or actor_id, 0
local pending = redis.call('ZRANGE', waiting, '(' .. now, '+inf', 'BYSCORE')
if #pending >= waiting_max then return {'full'} end
for _, each in ipairs(pending) do
  if string.match(each, '%S+') == root then own = own + 1 end
end
if own >= waiting_max / 2 then return {'share'} end
-- Scripts do not roll back: a key of the wrong type must fail before the first write.
redis.call('HLEN', review)
redis.call('ZCARD', reviews)

redis.call('XADD', changes, '*', 'actorId', actor_id, 'actorName', actor[1], 'kind', 'created',
  'resourceType', 'policy_review', 'resourceId', id, 'before', '', 'after', after,
  'reason', reason, 'via', actor[2] or '', 'person', actor[3] or '')
redis.call('HSET', review, 'status', 'pending', 'created_ms', now, 'expires_ms', expires_ms, 'reason', reason,
  'asked_by', actor_id, 'asked_name', actor[1], 'asked_via', actor[2] or '', 'asked_person', actor[3] or '',
  'root', root, 'made_by', actor[5] or '')
for i = 8, #ARGV, 2 do redis.call('HSET', review, ARGV[i], ARGV[i + 1]) end
redis.call('PEXPIREAT', review, string.format('%.0f', now_ms + valid_ms + keep_ms))
redis.call('ZADD', reviews, 0, id)
redis.call('ZREMRANGEBYSCORE', waiting, '-inf', now)
redis.call('ZADD', waiting, expires_ms, root .. ' ' .. id)
return {'done'}
