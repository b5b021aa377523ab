#!lua flags=allow-oom
--[[
put_checkpoint: keep the newest signed checkpoint of a log or of its trail of changes.

KEYS[1]       checkpoint      hash; size, note; unwitnessed_ms if a witness has not signed; fork: since when and why
                              nothing is signed until a person accepts it, or that one has

ARGV[1]       size            leaves of the tree that the note is about
ARGV[2]       note            the note with its signatures
ARGV[3]       waiting_ms      now, if a witness has not signed it; "" = none is waited for

RETURNS       {status}
  kept        this is the newest checkpoint; unwitnessed_ms is the time since which cosignatures have been missing; if
              none is, a fork is over
  older       there is one of a larger tree; nothing written
WRITES        checkpoint
TIME          O(1)
HOLDS         I9 a checkpoint never gives way to an older one
]]
assert(#KEYS == 1 and #ARGV == 3, 'ARITY')
local checkpoint = KEYS[1]
local size, note, waiting_ms = ARGV[1], ARGV[2], ARGV[3]

if tonumber(redis.call('HGET', checkpoint, 'size') or 0) > tonumber(size) then return {'older'} end

redis.call('HSET', checkpoint, 'size', size, 'note', note)
if waiting_ms == '' then
  redis.call('HDEL', checkpoint, 'unwitnessed_ms', 'fork')
else
  redis.call('HSETNX', checkpoint, 'unwitnessed_ms', waiting_ms)
end
return {'kept'}
