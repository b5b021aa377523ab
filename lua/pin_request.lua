#!lua
--[[
pin_request: pin the user's request of a session, which the first writer decides.

KEYS[1]       caller_key      hash; record of the API key that pins; missing = revoked
KEYS[2]       changes         stream; the trail of changes
KEYS[3]       pinned          hash; the pinned request: its MAC -> `record`

ARGV[1]       actor_id        id of the API key that pins; "console" = none
ARGV[2]       id              of the pinned request, for the trail
ARGV[3]       after           for the trail: JSON of the pinned request
ARGV[4]       record          when it was pinned (ms), and what else is known about it, each after a space
ARGV[5]       expires_ms      when it counts no more, ms since the epoch
ARGV[6]       reason          for the trail: why it is pinned; "" = not given
ARGV[6+i]     mac             a MAC of the request; the first one is stored

RETURNS       {status, record}
  done        the request is pinned
  repeated    the same request was pinned before; returns its record; nothing written
  other       another request was pinned before; nothing written
  revoked     the key is gone; nothing written
WRITES        changes, pinned
TIME          O(1)
HOLDS         I13 no change without its entry in the trail
]]
assert(#KEYS == 3 and #ARGV >= 7, 'ARITY')
local caller_key, changes, pinned = KEYS[1], KEYS[2], KEYS[3]
local actor_id, id, after, record = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local expires_ms, reason, newest = ARGV[5], ARGV[6], ARGV[7]

local actor = actor_id == 'console' and {actor_id} or redis.call('HMGET', caller_key, 'name', 'via', 'person')
if not actor[1] then return {'revoked', ''} end
for i = 7, #ARGV do
  local earlier = redis.call('HGET', pinned, ARGV[i])
  if earlier then return {'repeated', earlier} end
end
if redis.call('HLEN', pinned) > 0 then return {'other', ''} end

redis.call('XADD', changes, '*', 'actorId', actor_id, 'actorName', actor[1], 'kind', 'created',
  'resourceType', 'request', 'resourceId', id, 'before', '', 'after', after,
  'reason', reason, 'via', actor[2] or '', 'person', actor[3] or '')
redis.call('HSET', pinned, newest, record)
redis.call('PEXPIREAT', pinned, expires_ms)
return {'done', record}
