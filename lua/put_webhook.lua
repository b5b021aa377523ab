#!lua
--[[
put_webhook: create a webhook, or replace one that has not changed since it was read.

KEYS[1]       caller_key      hash; record of the caller's API key; missing = revoked
KEYS[2]       changes         stream; the trail of changes
KEYS[3]       webhook         hash; the webhook's record
KEYS[4]       webhooks        sorted set; member = webhook id, score = created_ms
KEYS[5]       outbox          hash; its cursors (log, trail, notices), and counts of its deliveries
KEYS[6]       commits         hash; `sequence` is that of the log's newest entry
KEYS[7]       notices         stream; events that are neither in the log nor in the trail

ARGV[1]       actor_id        id of the caller's API key; "console" = none
ARGV[2]       before          for the trail: JSON of the fields that change; "" = create
ARGV[3]       after           for the trail: JSON of those fields afterwards
ARGV[4]       expected        version that the caller read; 0 = create
ARGV[5]       id              webhook id
ARGV[6]       webhooks_max    webhooks that the workspace may have
ARGV[7]       from_now        1 = it gets only events from now on; 0 = it continues where its cursors are
ARGV[8]       reason          for the trail: why it is changed; "" = not given
ARGV[7+2i]    field           field i of the record
ARGV[8+2i]    value           value i; all fields but the times and the version are given

RETURNS       {status, created_ms, updated_ms, version}
  done        the record has exactly the given fields, created_ms, updated_ms and version
  revoked     the caller's key is gone; nothing written, numbers are 0
  stale       the record is not at `expected`; nothing written, numbers are 0
  full        the workspace has webhooks_max webhooks; nothing written, numbers are 0
WRITES        changes, webhook, webhooks, outbox if from_now
TIME          O(log N), N webhooks
HOLDS         I13 no change without its entry in the trail, I16 no event is lost unseen
]]
assert(#KEYS == 7 and #ARGV >= 8 and (#ARGV - 8) % 2 == 0, 'ARITY')
local caller_key, changes, webhook, webhooks = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local outbox, commits, notices = KEYS[5], KEYS[6], KEYS[7]
local actor_id, before, after, expected = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local id, webhooks_max, from_now = ARGV[5], tonumber(ARGV[6]), ARGV[7] == '1'
local reason = ARGV[8]
local clock = redis.call('TIME')
local now_ms = clock[1] * 1000 + math.floor(clock[2] / 1000)

local actor = actor_id == 'console' and {actor_id} or redis.call('HMGET', caller_key, 'name', 'via', 'person')
if not actor[1] then return {'revoked', 0, 0, 0} end
local stored = redis.call('HMGET', webhook, 'version', 'created_ms', 'updated_ms')
if tonumber(stored[1] or 0) ~= expected then return {'stale', 0, 0, 0} end
-- Scripts do not roll back: a key of the wrong type must fail before the first write.
local webhooks_held = redis.call('ZCARD', webhooks)
redis.call('HLEN', outbox)
if expected == 0 and webhooks_held >= webhooks_max then return {'full', 0, 0, 0} end
local sequence = redis.call('HGET', commits, 'sequence') or '0'
local newest = redis.call('XREVRANGE', notices, '+', '-', 'COUNT', 1)[1]
local created_ms = tonumber(stored[2] or now_ms)
-- Strictly later than before, so that two changes within a millisecond can be told apart.
local updated_ms = stored[3] and math.max(now_ms, tonumber(stored[3]) + 1) or now_ms

local record = {'created_ms', string.format('%.0f', created_ms), 'updated_ms', string.format('%.0f', updated_ms),
  'version', expected + 1}
for i = 9, #ARGV do record[#record + 1] = ARGV[i] end
local change_id = redis.call('XADD', changes, '*', 'actorId', actor_id, 'actorName', actor[1],
  'kind', expected == 0 and 'created' or 'updated', 'resourceType', 'webhook', 'resourceId', id,
  'before', before, 'after', after, 'reason', reason, 'via', actor[2] or '', 'person', actor[3] or '')
redis.call('DEL', webhook)
redis.call('HSET', webhook, unpack(record))
redis.call('ZADD', webhooks, string.format('%.0f', created_ms), id)
if from_now then
  redis.call('HSET', outbox, 'log', sequence, 'trail', change_id, 'notices', newest and newest[1] or '0-0')
end
return {'done', created_ms, updated_ms, expected + 1}
