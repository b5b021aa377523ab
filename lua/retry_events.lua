#!lua
--[[
retry_events: what was parked, or waits for its next attempt, is tried again at once, and for another day.

KEYS[1]       webhook         hash; the webhook's record: gone = deleted
KEYS[2]       waiting         sorted set; events that are tried again, by the ms at which they are
KEYS[3]       parked          sorted set; events that were given up
KEYS[4]       unsent          hash; of both kinds: event id -> its body; `<event id> tries` -> `<attempts> <since_ms> <error>`

ARGV[1]       event_id        "" = all that are parked
ARGV[2]       now_ms          ms since the epoch

RETURNS       {status, events}
  done        so many events are tried again
  missing     the webhook is gone, or has no such event; nothing written
WRITES        waiting, parked, unsent
TIME          O(N log N), N parked events, at most 1000
HOLDS         I16 no event is lost unseen
]]
assert(#KEYS == 4 and #ARGV == 2, 'ARITY')
local call = redis.call
local webhook, waiting, parked, unsent = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local event_id, now_ms = ARGV[1], ARGV[2]

if call('HEXISTS', webhook, 'version') == 0 then return {'missing', 0} end
local events = event_id ~= '' and {event_id} or call('ZRANGE', parked, 0, 999)
if event_id ~= '' and call('HEXISTS', unsent, event_id) == 0 then return {'missing', 0} end
-- Scripts do not roll back: a key of another type must be an error before the first write.
call('HLEN', unsent)
call('ZCARD', parked)
call('ZCARD', waiting)

for _, each in ipairs(events) do
  call('HSET', unsent, each .. ' tries', '0 ' .. now_ms .. ' ')
  call('ZREM', parked, each)
  call('ZADD', waiting, now_ms, each)
end
return {'done', #events}
