#!lua
--[[
rotate_key: create the successor of an API key and set when the key itself expires, in one step.

KEYS[1]       caller_key      hash; record of the caller's API key; missing = revoked
KEYS[2]       changes         stream; the trail of changes
KEYS[3]       key             hash; record of the key to replace
KEYS[4]       successor       hash; record of the new key
KEYS[5]       keys            sorted set; member = key id, score = created_ms
KEYS[5+i]     session         hash; record of a session that was made from the key

ARGV[1]       actor_id        id of the caller's API key; "console" = none
ARGV[2]       before          for the trail: JSON of the key's fields that change
ARGV[3]       after           for the trail: JSON of those fields afterwards
ARGV[4]       successor_after for the trail: JSON of the successor, without its digest
ARGV[5]       expires_ms      of the key when it was read; "" = never
ARGV[6]       until_ms        when the key expires from now on, ms since the epoch
ARGV[7]       id              key id
ARGV[8]       successor_id    the new key's id
ARGV[9]       created_ms      of the successor, ms since the epoch
ARGV[10]      keys_max        keys that the workspace may have
ARGV[11]      reason          for the trail: why it is replaced; "" = not given
ARGV[12]      sign_ins        the key's field of that name when it was read: the ids of its sessions
ARGV[11+2i]   field           field i of the successor's record
ARGV[12+2i]   value           value i; all fields but created_ms are given

RETURNS       {status}
  done        the successor exists, and the key expires at until_ms
  revoked     the caller's key is gone; nothing written
  stale       the key is gone, or its expiry or its sessions have changed; nothing written
  full        the workspace has keys_max keys; nothing written
WRITES        changes, successor, keys, the key's expiry and, at its first rotation, its former expiry ("" = never); the end
              of sessions that would outlive the key
TIME          O(log N + S), N keys, S sessions
HOLDS         I10 no raw key at rest or in logs, I13 no change without its entry in the trail
]]
assert(#KEYS >= 5 and #ARGV >= 12 and (#ARGV - 12) % 2 == 0, 'ARITY')
local caller_key, changes, key, successor, keys = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local actor_id, before, after, successor_after = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local expires_ms, until_ms, id, successor_id, created_ms = ARGV[5], ARGV[6], ARGV[7], ARGV[8], ARGV[9]
local keys_max, reason, sign_ins = tonumber(ARGV[10]), ARGV[11], ARGV[12]

local actor = actor_id == 'console' and {actor_id} or redis.call('HMGET', caller_key, 'name', 'via', 'person')
if not actor[1] then return {'revoked'} end
local stored = redis.call('HMGET', key, 'created_ms', 'expires_ms', 'sign_ins')
if not stored[1] or (stored[2] or '') ~= expires_ms or (stored[3] or '') ~= sign_ins then return {'stale'} end
-- Scripts do not roll back: a key of the wrong type must fail before the first write.
redis.call('HLEN', successor)
local keys_held = redis.call('ZCARD', keys)
if keys_held >= keys_max then return {'full'} end
local outliving = {}
for i = 6, #KEYS do
  local ends_ms = redis.call('HGET', KEYS[i], 'ends_ms')
  if ends_ms and tonumber(until_ms) < tonumber(ends_ms) then outliving[#outliving + 1] = KEYS[i] end
end

local function note(kind, resource_id, was, became)
  redis.call('XADD', changes, '*', 'actorId', actor_id, 'actorName', actor[1], 'kind', kind,
    'resourceType', 'api_key', 'resourceId', resource_id, 'before', was, 'after', became,
    'reason', reason, 'via', actor[2] or '', 'person', actor[3] or '')
end
note('created', successor_id, '', successor_after)
note('updated', id, before, after)
redis.call('HSET', successor, 'created_ms', created_ms)
for i = 13, #ARGV, 2 do redis.call('HSET', successor, ARGV[i], ARGV[i + 1]) end
redis.call('ZADD', keys, created_ms, successor_id)
redis.call('HSETNX', key, 'meant_to_expire_ms', expires_ms)
redis.call('HSET', key, 'expires_ms', until_ms)
for _, session in ipairs(outliving) do
  redis.call('HSET', session, 'ends_ms', until_ms)
  if tonumber(until_ms) < tonumber(redis.call('HGET', session, 'expires_ms')) then
    redis.call('HSET', session, 'expires_ms', until_ms)
  end
end
return {'done'}
