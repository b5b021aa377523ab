#!lua
--[[
retry_events: retry parked or waiting events now, and if need be for another day, even if the receiver has asked
for a wait.

KEYS[1]       webhook         hash; the webhook's record; missing = deleted
KEYS[2]       outbox          hash; the cursors, counters, and quiet_until_ms
KEYS[3]       waiting         sorted set; events to be retried; score = ms at which
KEYS[4]       parked          sorted set; events that were given up
KEYS[5]       unsent          hash; for both: event id -> its body; `<event id> tries` -> `<attempts> <since_ms> <error>`

ARGV[1]       event_id        of one event; "" = all parked ones
ARGV[2]       now_ms          ms since the epoch

RETURNS       {status, events}
  done        events = how many are tried again
  missing     the webhook is gone, or has no such event; nothing written
WRITES        outbox, waiting, parked, unsent
TIME          O(N log N), N parked events, at most 1000
HOLDS         I16 no event is lost unseen
]]
assert(#KEYS == 5 and #ARGV == 2, 'ARITY')
local call = redis.call
local webhook, outbox, waiting, parked, unsent = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local event_id, now_ms = ARGV[1], ARGV[2]

if call('HEXISTS', webhook, 'version') == 0 then return {'missing', 0} end
local events = event_id ~= '' and {event_id} or call('ZRANGE', parked, 0, 999)
if event_id ~= '' and not (call('ZSCORE', waiting, event_id) or call('ZSCORE', parked, event_id)) then
  return {'missing', 0}
end
-- Scripts do not roll back: a key of the wrong type must fail before the first write.
call('HLEN', outbox)
call('HLEN', unsent)
call('ZCARD', parked)
call('ZCARD', waiting)

call('HDEL', outbox, 'quiet_until_ms')
for _, each in ipairs(events) do
  call('HSET', unsent, each .. ' tries', '0 ' .. now_ms .. ' ')
  call('ZREM', parked, each)
  call('ZADD', waiting, now_ms, each)
end
return {'done', #events}
