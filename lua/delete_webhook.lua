#!lua flags=allow-oom
--[[
delete_webhook: remove a webhook with all its undelivered events.

KEYS[1]       caller_key      hash; record of the caller's API key; missing = revoked
KEYS[2]       changes         stream; the trail of changes
KEYS[3]       webhook         hash; the webhook's record
KEYS[4]       webhooks        sorted set of the workspace's webhooks
KEYS[5]       outbox          hash; its cursors: how far its events are sent
KEYS[6]       waiting         sorted set; events to be retried
KEYS[7]       parked          sorted set; events that were given up
KEYS[8]       unsent          hash; the bodies and attempts of both
KEYS[9]       deliveries      list; the latest attempts

ARGV[1]       actor_id        id of the caller's API key; "console" = none
ARGV[2]       before          for the trail: JSON of the webhook, without its secrets
ARGV[3]       expected        version that the caller read
ARGV[4]       id              webhook id
ARGV[5]       reason          for the trail: why it is deleted; "" = not given

RETURNS       {status}
  done        the webhook and its events are gone
  revoked     the caller's key is gone; nothing written
  stale       the webhook is not at `expected` (changed or gone); nothing written
WRITES        every key named
TIME          O(N), N undelivered events
HOLDS         I13 no change without its entry in the trail
]]
assert(#KEYS == 9 and #ARGV == 5, 'ARITY')
local caller_key, changes, webhook, webhooks = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local outbox, waiting, parked, unsent, deliveries = KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local actor_id, before, expected, id, reason = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

local actor = actor_id == 'console' and {actor_id} or redis.call('HMGET', caller_key, 'name', 'via', 'person')
if not actor[1] then return {'revoked'} end
if redis.call('HGET', webhook, 'version') ~= expected then return {'stale'} end
-- Scripts do not roll back: a key of the wrong type must fail before the first write.
redis.call('ZCARD', webhooks)

redis.call('XADD', changes, '*', 'actorId', actor_id, 'actorName', actor[1], 'kind', 'deleted',
  'resourceType', 'webhook', 'resourceId', id, 'before', before, 'after', '',
  'reason', reason, 'via', actor[2] or '', 'person', actor[3] or '')
redis.call('ZREM', webhooks, id)
redis.call('DEL', webhook, outbox, waiting, parked, unsent, deliveries)
return {'done'}
