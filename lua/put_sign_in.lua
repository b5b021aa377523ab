#!lua
--[[
put_sign_in: create a session, which is the record of an API key that ends.

KEYS[1]       caller_key      hash; record of the API key that signs in, and that the session ends with
KEYS[2]       changes         stream; the trail of changes
KEYS[3]       session         hash; the new session's record
KEYS[4]       sign_ins        sorted set; member = session id, score = ms at which the session ends in any case
KEYS[4+i]     signed_out      string; s since the epoch, a sign-out at the identity provider that ends this sign-in, if it
                              is not older

ARGV[1]       actor_id        id of the API key that signs in, or of who else does
ARGV[2]       after           for the trail: JSON of the session, without its digest
ARGV[3]       id              session id
ARGV[4]       created_ms      ms since the epoch
ARGV[5]       ends_ms         ms since the epoch
ARGV[6]       sign_ins_max    sessions that the workspace may have
ARGV[7]       known           the key's field `sign_ins` when it was read: ids of its sessions
ARGV[8]       sign_ins_then   the same with the new session
ARGV[9]       actor_name      for the trail: who signs in without an API key; "" = the key's name
ARGV[10]      issued_s        when the identity provider said who signs in, s since the epoch; "" = it did not
ARGV[9+2i]    field           field i of the record
ARGV[10+2i]   value           value i; all fields but created_ms are given

RETURNS       {status}
  done        the session exists
  revoked     the API key is gone; nothing written
  stale       the key has other sessions than `known`; nothing written
  full        the workspace has sign_ins_max sessions; nothing written
  signed_out  whoever signs in has signed out since issued_s; nothing written
WRITES        changes, session, sign_ins without those that have ended, the key's `sign_ins`
TIME          O(log N + E), N sessions, E that have ended
HOLDS         I7 a revoked key gets no decision, I10 no raw key at rest or in logs, I13 no change without its entry in the trail
]]
assert(#KEYS >= 4 and #ARGV >= 10 and #ARGV % 2 == 0, 'ARITY')
local caller_key, changes, session, sign_ins = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local actor_id, after, id, created_ms, ends_ms = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local sign_ins_max, known, sign_ins_then = tonumber(ARGV[6]), ARGV[7], ARGV[8]
local actor_name, issued_s = ARGV[9], tonumber(ARGV[10])

local has_key = actor_name == ''
local caller = has_key and redis.call('HMGET', caller_key, 'name', 'sign_ins') or {actor_name}
if not caller[1] then return {'revoked'} end
if (caller[2] or '') ~= known then return {'stale'} end
for i = 5, #KEYS do
  local signed_out_s = redis.call('GET', KEYS[i])
  if signed_out_s and issued_s <= tonumber(signed_out_s) then return {'signed_out'} end
end
-- Scripts do not roll back: a key of the wrong type must fail before the first write.
redis.call('HLEN', session)
if redis.call('ZCOUNT', sign_ins, '(' .. created_ms, '+inf') >= sign_ins_max then return {'full'} end

redis.call('XADD', changes, '*', 'actorId', actor_id, 'actorName', caller[1], 'kind', 'created',
  'resourceType', 'session', 'resourceId', id, 'before', '', 'after', after,
  'person', (has_key or actor_id == 'console') and '' or actor_id)
redis.call('HSET', session, 'created_ms', created_ms)
for i = 11, #ARGV, 2 do redis.call('HSET', session, ARGV[i], ARGV[i + 1]) end
redis.call('PEXPIREAT', session, ends_ms)
redis.call('ZREMRANGEBYSCORE', sign_ins, '-inf', created_ms)
redis.call('ZADD', sign_ins, ends_ms, id)
if has_key then redis.call('HSET', caller_key, 'sign_ins', sign_ins_then) end
return {'done'}
