#!lua
--[[
accept_fork: a log or a trail of changes is signed again although it does not continue what was signed.

KEYS[1]       caller_key      hash; record of the API key that accepts; missing = revoked
KEYS[2]       changes         stream; the trail of changes
KEYS[3]       checkpoint      hash; the newest checkpoint; fork: since when and why nothing is signed, or `accepted`

ARGV[1]       actor_id        id of the API key that accepts; "console" = none
ARGV[2]       workspace_id    for the trail
ARGV[3]       fork            what is accepted, as the checkpoint has it
ARGV[4]       before          for the trail: JSON of what is accepted
ARGV[5]       after           for the trail: JSON of the same field afterwards
ARGV[6]       reason          for the trail: why; "" = not given

RETURNS       {status}
  done        the tree is signed again, whatever witnesses say until all have signed
  over        this fork is not there any more, as after it was accepted; nothing written
  revoked     the key is gone; nothing written
WRITES        changes, checkpoint
TIME          O(1)
HOLDS         I13 no change without its entry in the trail
]]
assert(#KEYS == 3 and #ARGV == 6, 'ARITY')
local caller_key, changes, checkpoint = KEYS[1], KEYS[2], KEYS[3]
local actor_id, workspace_id, fork = ARGV[1], ARGV[2], ARGV[3]
local before, after, reason = ARGV[4], ARGV[5], ARGV[6]

local actor = actor_id == 'console' and {actor_id} or redis.call('HMGET', caller_key, 'name', 'via', 'person')
if not actor[1] then return {'revoked'} end
if redis.call('HGET', checkpoint, 'fork') ~= fork then return {'over'} end

redis.call('XADD', changes, '*', 'actorId', actor_id, 'actorName', actor[1], 'kind', 'updated',
  'resourceType', 'checkpoint', 'resourceId', workspace_id, 'before', before, 'after', after,
  'reason', reason, 'via', actor[2] or '', 'person', actor[3] or '')
redis.call('HSET', checkpoint, 'fork', 'accepted')
return {'done'}
