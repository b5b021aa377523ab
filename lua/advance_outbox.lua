#!lua flags=allow-oom
--[[
advance_outbox: what has become of one event stands in the same step in which the cursor passes it.

KEYS[1]       webhook         hash; the webhook's record: gone = deleted
KEYS[2]       outbox          hash; the cursors log, trail and notices; delivered, lost, last_error
KEYS[3]       waiting         sorted set; events that are tried again, by the ms at which they are
KEYS[4]       parked          sorted set; events that were given up, by the ms at which they were
KEYS[5]       unsent          hash; of both kinds: event id -> its body; `<event id> tries` -> `<attempts> <since_ms> <error>`

ARGV[1]       source          cursor that moves: log, trail, notices; "" = none, the event is one that waits
ARGV[2]       from            where the cursor is
ARGV[3]       to              where it goes
ARGV[4]       event_id        "" = there is no event for the webhook up to there
ARGV[5]       outcome         delivered, waits, parked; "" = none
ARGV[6]       at_ms           waits: when it is tried again; parked: now
ARGV[7]       body            waits, parked: of the event
ARGV[8]       tries           waits, parked: `<attempts> <since_ms> <error>`
ARGV[9]       error           of the attempt; "" = none
ARGV[10]      parked_max      events that may be parked; past it the oldest is lost

RETURNS       {status}
  done        as it says above
  stale       the webhook is gone, or the cursor is elsewhere: another sender has passed; nothing written
WRITES        outbox, waiting, parked, unsent
TIME          O(log N), N events that wait
HOLDS         I16 no event is lost unseen
]]
assert(#KEYS == 5 and #ARGV == 10, 'ARITY')
local call = redis.call
local webhook, outbox, waiting, parked, unsent = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local source, from, to, event_id, outcome = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local at_ms, body, tries, failure, parked_max = ARGV[6], ARGV[7], ARGV[8], ARGV[9], tonumber(ARGV[10])

if call('HEXISTS', webhook, 'version') == 0 then return {'stale'} end
if source ~= '' and call('HGET', outbox, source) ~= from then return {'stale'} end
-- Scripts do not roll back: a key of another type must be an error before the first write.
call('HLEN', outbox)
call('ZCARD', waiting)
call('HLEN', unsent)
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
if failure ~= '' then call('HSET', outbox, 'last_error', failure) end
return {'done'}
