#!lua flags=allow-oom
--[[
delete_webhook: remove a webhook with everything that waits for it.

KEYS[1]       caller_key      hash; the record of the key that asks: gone = revoked
KEYS[2]       changes         stream; the trail of changes
KEYS[3]       webhook         hash; the webhook's record
KEYS[4]       webhooks        sorted set of the workspace's webhooks
KEYS[5]       outbox          hash; how far its events are sent
KEYS[6]       waiting         sorted set; events that are tried again
KEYS[7]       parked          sorted set; events that were given up
KEYS[8]       unsent          hash; both kinds of events

ARGV[1]       actor_id        id of the key that asks; "console" = none
ARGV[2]       before          for the trail: JSON of the webhook, without its secrets
ARGV[3]       expected        version that the caller read
ARGV[4]       id              webhook id

RETURNS       {status}
  done        nothing of the webhook is left
  revoked     the key that asks is gone; nothing written
  stale       the webhook is not at `expected` (changed or gone); nothing written
WRITES        everything named
TIME          O(N), N events that wait
HOLDS         I13 no change without its entry in the trail
]]
assert(#KEYS == 8 and #ARGV == 4, 'ARITY')
local caller_key, changes, webhook, webhooks = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local outbox, waiting, parked, unsent = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local actor_id, before, expected, id = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local actor_name = actor_id == 'console' and actor_id or redis.call('HGET', caller_key, 'name')
if not actor_name then return {'revoked'} end
if redis.call('HGET', webhook, 'version') ~= expected then return {'stale'} end
-- Scripts do not roll back: a key of another type must be an error before the first write.
redis.call('ZCARD', webhooks)

redis.call('XADD', changes, '*', 'actorId', actor_id, 'actorName', actor_name, 'kind', 'deleted',
  'resourceType', 'webhook', 'resourceId', id, 'before', before, 'after', '')
redis.call('ZREM', webhooks, id)
redis.call('DEL', webhook, outbox, waiting, parked, unsent)
return {'done'}
