#!lua flags=allow-oom
--[[
freeze_agent: for a second nobody changes the agent or its policies, so that who deletes it is not overtaken.

KEYS[1]       caller_key      hash; the record of the key that asks: gone = revoked
KEYS[2]       agent           hash; the agent's record

ARGV[1]       actor_id        id of the key that asks; "console" = none

RETURNS       {status}
  done        its changes answer `frozen` until the second has passed, and so does the creation of a policy
  revoked     the key that asks is gone; nothing written
  no_agent    the agent does not exist; nothing written
WRITES        the agent's frozen_until_ms; its version token stays, so no plan becomes stale
TIME          O(1)
HOLDS         I8 an acknowledged change binds: this keeps others waiting and proves nothing, delete_agent still compares

It ends by itself: who dies between this and the deletion keeps nobody from anything for long.
]]
assert(#KEYS == 2 and #ARGV == 1, 'ARITY')
local caller_key, agent, actor_id = KEYS[1], KEYS[2], ARGV[1]
local clock = redis.call('TIME')
local now_ms = clock[1] * 1000 + math.floor(clock[2] / 1000)

if actor_id ~= 'console' and redis.call('HEXISTS', caller_key, 'name') == 0 then return {'revoked'} end
if redis.call('HEXISTS', agent, 'version') == 0 then return {'no_agent'} end
redis.call('HSET', agent, 'frozen_until_ms', string.format('%.0f', now_ms + 1000))
return {'done'}
