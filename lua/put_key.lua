#!lua
--[[
put_key: create an API key.

KEYS[1]       caller_key      hash; record of the caller's API key; missing = revoked
KEYS[2]       changes         stream; the trail of changes
KEYS[3]       key             hash; the new key's record
KEYS[4]       keys            sorted set; member = key id, score = created_ms

ARGV[1]       actor_id        id of the caller's API key; "console" = none
ARGV[2]       after           for the trail: JSON of the key, without its digest
ARGV[3]       id              key id
ARGV[4]       created_ms      ms since the epoch
ARGV[5]       keys_max        keys that the workspace may have
ARGV[6]       reason          for the trail: why it is made; "" = not given
ARGV[5+2i]    field           field i of the record
ARGV[6+2i]    value           value i; all fields but created_ms are given

RETURNS       {status}
  done        the key exists
  revoked     the caller's key is gone; nothing written
  exists      there is a key with this id; nothing written
  full        the workspace has keys_max keys; nothing written
WRITES        changes, key, keys
TIME          O(log N), N keys
HOLDS         I10 no raw key at rest or in logs, I13 no change without its entry in the trail
]]
assert(#KEYS == 4 and #ARGV >= 6 and (#ARGV - 6) % 2 == 0, 'ARITY')
local caller_key, changes, key, keys = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local actor_id, after, id, created_ms, keys_max = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local reason = ARGV[6]

local actor = actor_id == 'console' and {actor_id} or redis.call('HMGET', caller_key, 'name', 'via', 'person')
if not actor[1] then return {'revoked'} end
if redis.call('HEXISTS', key, 'created_ms') == 1 then return {'exists'} end
-- Scripts do not roll back: a key of the wrong type must fail before the first write.
local keys_held = redis.call('ZCARD', keys)
if keys_held >= keys_max then return {'full'} end

redis.call('XADD', changes, '*', 'actorId', actor_id, 'actorName', actor[1], 'kind', 'created',
  'resourceType', 'api_key', 'resourceId', id, 'before', '', 'after', after,
  'reason', reason, 'via', actor[2] or '', 'person', actor[3] or '')
redis.call('HSET', key, 'created_ms', created_ms)
for i = 7, #ARGV, 2 do redis.call('HSET', key, ARGV[i], ARGV[i + 1]) end
redis.call('ZADD', keys, created_ms, id)
return {'done'}
