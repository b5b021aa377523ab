#!lua flags=allow-oom
--[[
advance_outbox: move a webhook's cursor past one event and record the event's delivery, in one step.

KEYS[1]       webhook         hash; the webhook's record; missing = deleted
KEYS[2]       outbox          hash; the cursors log, trail and notices; delivered, lost, last_error,
                              quiet_until_ms
KEYS[3]       waiting         sorted set; events to be retried; score = ms at which
KEYS[4]       parked          sorted set; events that were given up; score = ms at which
KEYS[5]       unsent          hash; for both: event id -> its body; `<event id> tries` -> `<attempts> <since_ms> <error>`
KEYS[6]       deliveries      list; the latest attempts as JSON, newest first

ARGV[1]       source          the cursor to move: log, trail, notices; "" = none, the event was waiting
ARGV[2]       from            where the cursor is
ARGV[3]       to              where it goes
ARGV[4]       event_id        "" = there is no event for this webhook up to there
ARGV[5]       outcome         delivered, waits, parked; "" = none
ARGV[6]       at_ms           waits: when to retry it; parked: now
ARGV[7]       body            waits, parked: of the event
ARGV[8]       tries           waits, parked: `<attempts> <since_ms> <error>`
ARGV[9]       error           of the attempt; "" = none
ARGV[10]      quiet_until_ms  until when the receiver has asked to be sent nothing; "" = it has not
ARGV[11]      parked_max      how many events may be parked; beyond that, the oldest is lost
ARGV[12]      attempt         of the event, as JSON, passed through as bytes; "" = none
ARGV[13]      attempts_max    how many attempts are kept

RETURNS       {status}
  done        the event's delivery is recorded, and the cursor has moved
  stale       the webhook is gone, or another sender has moved the cursor; nothing written
WRITES        outbox, waiting, parked, unsent, deliveries
TIME          O(log N), N waiting and parked events
HOLDS         I16 no event is lost unseen
]]
assert(#KEYS == 6 and #ARGV == 13, 'ARITY')
local call = redis.call
local webhook, outbox, waiting, parked, unsent, deliveries = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local source, from, to, event_id, outcome = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local at_ms, body, tries, failure = ARGV[6], ARGV[7], ARGV[8], ARGV[9]
local quiet_until_ms, parked_max = ARGV[10], tonumber(ARGV[11])
local attempt, attempts_max = ARGV[12], tonumber(ARGV[13])

if call('HEXISTS', webhook, 'version') == 0 then return {'stale'} end
if source ~= '' and call('HGET', outbox, source) ~= from then return {'stale'} end
-- Scripts do not roll back: a key of the wrong type must fail before the first write.
call('HLEN', outbox)
call('ZCARD', waiting)
call('HLEN', unsent)
call('LLEN', deliveries)
local parked_now = call('ZCARD', parked)

if source ~= '' then call('HSET', outbox, source, to) end
if outcome == 'delivered' then
  call('HINCRBY', outbox, 'delivered', '1')
  call('ZREM', waiting, event_id)
  call('HDEL', unsent, event_id, event_id .. ' tries')
elseif outcome == 'waits' then
  call('HSET', unsent, event_id, body, event_id .. ' tries', tries)
  call('ZADD', waiting, at_ms, event_id)
elseif outcome == 'parked' then
  if parked_now >= parked_max then
    local oldest = call('ZRANGE', parked, 0, 0)[1]
    call('ZREM', parked, oldest)
    call('HDEL', unsent, oldest, oldest .. ' tries')
    call('HINCRBY', outbox, 'lost', '1')
  end
  call('HSET', unsent, event_id, body, event_id .. ' tries', tries)
  call('ZREM', waiting, event_id)
  call('ZADD', parked, at_ms, event_id)
end
if quiet_until_ms ~= '' then call('HSET', outbox, 'quiet_until_ms', quiet_until_ms) end
if failure ~= '' then call('HSET', outbox, 'last_error', failure) end
if attempt ~= '' then
  call('LPUSH', deliveries, attempt)
  call('LTRIM', deliveries, 0, attempts_max - 1)
end
return {'done'}
