#!lua flags=allow-oom
--[[
put_issuer: create, change or delete an issuer of workload tokens.

KEYS[1]       caller_key      hash; record of the caller's API key; missing = revoked
KEYS[2]       changes         stream; the trail of changes
KEYS[3]       issuers         hash; an issuer's name -> its record

ARGV[1]       actor_id        id of the caller's API key; "console" = none
ARGV[2]       kind            for the trail: created, updated, deleted
ARGV[3]       id              of the issuer
ARGV[4]       before          for the trail: JSON; "" = there was none
ARGV[5]       after           for the trail: JSON; "" = deleted
ARGV[6]       reason          for the trail: why it is changed; "" = not given
ARGV[7]       name            of the issuer
ARGV[8]       expected        its record when it was read; "" = there was none
ARGV[9]       record          JSON; "" = delete it
ARGV[10]      issuers_max     issuers that the workspace may have

RETURNS       {status}
  done        the issuer is as given
  revoked     the caller's key is gone; nothing written
  stale       its record is not `expected`; nothing written
  full        the workspace has issuers_max issuers; nothing written
WRITES        changes, issuers
TIME          O(1)
HOLDS         I13 no change without its entry in the trail
]]
assert(#KEYS == 3 and #ARGV == 10, 'ARITY')
local caller_key, changes, issuers = KEYS[1], KEYS[2], KEYS[3]
local actor_id, kind, id, before, after, reason = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local name, expected, record, issuers_max = ARGV[7], ARGV[8], ARGV[9], tonumber(ARGV[10])

local actor = actor_id == 'console' and {actor_id} or redis.call('HMGET', caller_key, 'name', 'via', 'person')
if not actor[1] then return {'revoked'} end
if (redis.call('HGET', issuers, name) or '') ~= expected then return {'stale'} end
if expected == '' and redis.call('HLEN', issuers) >= issuers_max then return {'full'} end

redis.call('XADD', changes, '*', 'actorId', actor_id, 'actorName', actor[1], 'kind', kind,
  'resourceType', 'issuer', 'resourceId', id, 'before', before, 'after', after,
  'reason', reason, 'via', actor[2] or '', 'person', actor[3] or '')
if record == '' then redis.call('HDEL', issuers, name) else redis.call('HSET', issuers, name, record) end
return {'done'}
