#!lua flags=allow-oom
--[[
revoke_key: remove an API key, and the sessions that were made from it, with immediate effect. A session is such a key.

KEYS[1]       caller_key      hash; record of the caller's API key; missing = revoked
KEYS[2]       changes         stream; the trail of changes
KEYS[3]       key             hash; record of the key to revoke
KEYS[4]       keys            sorted set of the workspace's keys, or of its sessions
KEYS[4+i]     session         hash; record of a session that was made from the key
KEYS[#KEYS]   other_admin     hash; only with needs_other: record of a valid admin key that remains

ARGV[1]       actor_id        id of the caller's API key; "console" = none
ARGV[2]       before          for the trail: JSON of the key, without its digest
ARGV[3]       expires_ms      of the key when `before` was read; "" = never
ARGV[4]       id              key id
ARGV[5]       needs_other     "1" = only if other_admin is a valid admin key; "" = no other key is needed
ARGV[6]       reason          for the trail: why it is revoked; "" = not given
ARGV[7]       resource_type   for the trail: api_key or session
ARGV[8]       sign_ins        the key's field of that name when `before` was read: the ids of its sessions

RETURNS       {status}
  done        the key is gone
  revoked     the caller's key is gone; nothing written
  stale       the key is gone, its expiry or its sessions have changed, or other_admin is gone or has expired; nothing
              written
WRITES        changes, key, keys, sessions
TIME          O(log N + S), N keys, S sessions
HOLDS         I7 a revoked key gets no decision, I13 no change without its entry in the trail
]]
local caller_key, changes, key, keys = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local actor_id, before, expires_ms, id = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local needs_other, reason, resource_type, sign_ins = ARGV[5] == '1', ARGV[6], ARGV[7], ARGV[8]
local other_admin = needs_other and KEYS[#KEYS]
local last_session = needs_other and #KEYS - 1 or #KEYS
assert(#ARGV == 8 and last_session >= 4, 'ARITY')

local actor = actor_id == 'console' and {actor_id} or redis.call('HMGET', caller_key, 'name', 'via', 'person')
if not actor[1] then return {'revoked'} end
local stored = redis.call('HMGET', key, 'created_ms', 'expires_ms', 'sign_ins')
if not stored[1] or (stored[2] or '') ~= expires_ms or (stored[3] or '') ~= sign_ins then return {'stale'} end
if needs_other then
  -- If two admin keys revoke each other, the second finds the first gone. Scopes never change, so they are not checked.
  local other = redis.call('HMGET', other_admin, 'created_ms', 'expires_ms')
  local clock = redis.call('TIME')
  local now_ms = clock[1] * 1000 + math.floor(clock[2] / 1000)
  if not other[1] or (other[2] and not (now_ms < tonumber(other[2]))) then return {'stale'} end
end
-- Scripts do not roll back: a key of the wrong type must fail before the first write.
redis.call('ZCARD', keys)

redis.call('XADD', changes, '*', 'actorId', actor_id, 'actorName', actor[1], 'kind', 'deleted',
  'resourceType', resource_type, 'resourceId', id, 'before', before, 'after', '',
  'reason', reason, 'via', actor[2] or '', 'person', actor[3] or '')
redis.call('DEL', key)
for i = 5, last_session do redis.call('DEL', KEYS[i]) end
redis.call('ZREM', keys, id)
return {'done'}
