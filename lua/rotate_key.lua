#!lua
--[[
rotate_key: create the successor of an API key and let the key itself expire, in one step.

KEYS[1]       caller_key      hash; the record of the key that asks: gone = revoked
KEYS[2]       changes         stream; the trail of changes
KEYS[3]       key             hash; the record of the key to be replaced
KEYS[4]       successor       hash; the new key's record
KEYS[5]       keys            sorted set; member = key id, score = created_ms

ARGV[1]       actor_id        id of the key that asks; "console" = none
ARGV[2]       before          for the trail: JSON of what changes of the key
ARGV[3]       after           for the trail: JSON of what it becomes
ARGV[4]       successor_after for the trail: JSON of the successor, without its digest
ARGV[5]       expires_ms      of the key when it was read; "" = never
ARGV[6]       until_ms        when the key is to expire, ms since the epoch
ARGV[7]       id              key id
ARGV[8]       successor_id    the new key's id
ARGV[9]       created_ms      of the successor, ms since the epoch
ARGV[10]      keys_max        keys that the workspace may have
ARGV[11]      reason          for the trail: why it is replaced; "" = nobody says
ARGV[10+2i]   field           field i of the successor's record
ARGV[11+2i]   value           value i; every field but created_ms is given

RETURNS       {status}
  done        the successor exists, and the key expires at until_ms
  revoked     the key that asks is gone; nothing written
  stale       the key is gone or its expiry is another; nothing written
  full        the workspace has keys_max keys; nothing written
WRITES        changes, the key's expiry and, at its first rotation, what that was ("" = never), successor, keys
TIME          O(log N), N keys
HOLDS         I10 no raw key at rest or in logs, I13 no change without its entry in the trail
]]
assert(#KEYS == 5 and #ARGV >= 11 and (#ARGV - 11) % 2 == 0, 'ARITY')
local caller_key, changes, key, successor, keys = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local actor_id, before, after, successor_after = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local expires_ms, until_ms, id, successor_id, created_ms = ARGV[5], ARGV[6], ARGV[7], ARGV[8], ARGV[9]
local keys_max, reason = tonumber(ARGV[10]), ARGV[11]

local actor_name = actor_id == 'console' and actor_id or redis.call('HGET', caller_key, 'name')
if not actor_name then return {'revoked'} end
local held = redis.call('HMGET', key, 'created_ms', 'expires_ms')
if not held[1] or (held[2] or '') ~= expires_ms then return {'stale'} end
-- Scripts do not roll back: a key of another type must be an error before the first write.
redis.call('HLEN', successor)
local keys_held = redis.call('ZCARD', keys)
if keys_held >= keys_max then return {'full'} end

local function note(kind, resource_id, was, became)
  redis.call('XADD', changes, '*', 'actorId', actor_id, 'actorName', actor_name, 'kind', kind,
    'resourceType', 'api_key', 'resourceId', resource_id, 'before', was, 'after', became,
    unpack(reason == '' and {} or {'reason', reason}))
end
note('created', successor_id, '', successor_after)
note('updated', id, before, after)
redis.call('HSET', successor, 'created_ms', created_ms)
for i = 12, #ARGV, 2 do redis.call('HSET', successor, ARGV[i], ARGV[i + 1]) end
redis.call('ZADD', keys, created_ms, successor_id)
redis.call('HSETNX', key, 'meant_to_expire_ms', expires_ms)
redis.call('HSET', key, 'expires_ms', until_ms)
return {'done'}
