#!lua flags=allow-oom
--[[
freeze_agent: block changes of an agent and its policies for one second, so that its deletion is not overtaken.

KEYS[1]       caller_key      hash; record of the caller's API key; missing = revoked
KEYS[2]       agent           hash; the agent's record

ARGV[1]       actor_id        id of the caller's API key; "console" = none

RETURNS       {status}
  done        until the second has passed, changes of the agent and its policies are answered with `frozen`
  revoked     the caller's key is gone; nothing written
  no_agent    the agent does not exist; nothing written
WRITES        the agent's frozen_until_ms; its version token stays, so no plan becomes stale
TIME          O(1)
HOLDS         I8 an acknowledged change binds: the freeze only makes others wait; delete_agent still compares versions

The freeze ends by itself, so a replica that dies before the deletion blocks nobody for long.
]]
assert(#KEYS == 2 and #ARGV == 1, 'ARITY')
local caller_key, agent, actor_id = KEYS[1], KEYS[2], ARGV[1]
local clock = redis.call('TIME')
local now_ms = clock[1] * 1000 + math.floor(clock[2] / 1000)

if actor_id ~= 'console' and redis.call('HEXISTS', caller_key, 'name') == 0 then return {'revoked'} end
if redis.call('HEXISTS', agent, 'version') == 0 then return {'no_agent'} end
redis.call('HSET', agent, 'frozen_until_ms', string.format('%.0f', now_ms + 1000))
return {'done'}
