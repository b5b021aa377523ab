#!lua flags=allow-oom
--[[
revoke_key: remove an API key, with immediate effect.

KEYS[1]       caller_key      hash; record of the caller's API key; missing = revoked
KEYS[2]       changes         stream; the trail of changes
KEYS[3]       key             hash; record of the key to revoke
KEYS[4]       keys            sorted set of the workspace's keys
KEYS[#KEYS]   other_admin     hash; only with needs_other: record of a valid admin key that remains

ARGV[1]       actor_id        id of the caller's API key; "console" = none
ARGV[2]       before          for the trail: JSON of the key, without its digest
ARGV[3]       expires_ms      of the key when `before` was read; "" = never
ARGV[4]       id              key id
ARGV[5]       needs_other     "1" = only if other_admin is a valid admin key; "" = no other key is needed
ARGV[6]       reason          for the trail: why it is revoked; "" = not given

RETURNS       {status}
  done        the key is gone
  revoked     the caller's key is gone; nothing written
  stale       the key is gone, its expiry has changed, or other_admin is gone or has expired; nothing written
WRITES        changes, key, keys
TIME          O(log N), N keys
HOLDS         I7 a revoked key gets no decision, I13 no change without its entry in the trail
]]
local caller_key, changes, key, keys = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local actor_id, before, expires_ms, id = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local needs_other, reason = ARGV[5] == '1', ARGV[6]
local other_admin = needs_other and KEYS[#KEYS]
assert(#ARGV == 6 and #KEYS == (needs_other and 5 or 4), 'ARITY')

local actor_name = actor_id == 'console' and actor_id or redis.call('HGET', caller_key, 'name')
if not actor_name then return {'revoked'} end
local stored = redis.call('HMGET', key, 'created_ms', 'expires_ms')
if not stored[1] or (stored[2] or '') ~= expires_ms then return {'stale'} end
if needs_other then
  -- If two admin keys revoke each other, the second finds the first gone. Scopes never change, so they are not checked.
  local other = redis.call('HMGET', other_admin, 'created_ms', 'expires_ms')
  local clock = redis.call('TIME')
  local now_ms = clock[1] * 1000 + math.floor(clock[2] / 1000)
  if not other[1] or (other[2] and not (now_ms < tonumber(other[2]))) then return {'stale'} end
end
-- Scripts do not roll back: a key of the wrong type must fail before the first write.
redis.call('ZCARD', keys)

redis.call('XADD', changes, '*', 'actorId', actor_id, 'actorName', actor_name, 'kind', 'deleted',
  'resourceType', 'api_key', 'resourceId', id, 'before', before, 'after', '',
  unpack(reason == '' and {} or {'reason', reason}))
redis.call('DEL', key)
redis.call('ZREM', keys, id)
return {'done'}
