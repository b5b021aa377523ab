#!lua
--[[
put_catalog: create, change and delete tools of the catalogue, all of those given or none.

KEYS[1]       caller_key      hash; record of the caller's API key; missing = revoked
KEYS[2]       changes         stream; the trail of changes
KEYS[3]       catalog         hash; `version` changes with every change of the tools
KEYS[4]       catalog_tools   hash; a tool's name -> its record

ARGV[1]       actor_id        id of the caller's API key; "console" = none
ARGV[2]       kind            for the trail: created, updated, deleted
ARGV[3]       resource_id     for the trail: the workspace's id
ARGV[4]       before          for the trail: JSON of the tools that change; "" = none of them existed
ARGV[5]       after           for the trail: JSON of these tools afterwards; "" = none of them exists
ARGV[6]       expected        version that the caller read with the tools; "" = there were none
ARGV[7]       version         the new one
ARGV[8]       reason          for the trail: why they are changed; "" = not given
ARGV[7+2i]    name            of tool i
ARGV[8+2i]    record          of tool i, JSON; "" = delete it

RETURNS       {status}
  done        the tools are as given, all others unchanged; the version is the new one unless the catalogue is empty
  revoked     the caller's key is gone; nothing written
  stale       the version is not `expected`; nothing written
WRITES        changes, catalog, catalog_tools
TIME          O(N), N tools that change, at most 2,000
HOLDS         I13 no change without its entry in the trail

The caller counted tools and bytes at version `expected`, so the counts are right while that is the version.
]]
assert(#KEYS == 4 and #ARGV >= 10 and #ARGV % 2 == 0, 'ARITY')
local caller_key, changes, catalog, catalog_tools = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local actor_id, kind, resource_id, before, after = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local expected, version, reason = ARGV[6], ARGV[7], ARGV[8]

local actor = actor_id == 'console' and {actor_id} or redis.call('HMGET', caller_key, 'name', 'via', 'person')
if not actor[1] then return {'revoked'} end
if (redis.call('HGET', catalog, 'version') or '') ~= expected then return {'stale'} end
-- Scripts do not roll back: a key of the wrong type must fail before the first write.
redis.call('HLEN', catalog_tools)

redis.call('XADD', changes, '*', 'actorId', actor_id, 'actorName', actor[1], 'kind', kind,
  'resourceType', 'catalog', 'resourceId', resource_id, 'before', before, 'after', after,
  'reason', reason, 'via', actor[2] or '', 'person', actor[3] or '')
for i = 9, #ARGV, 2 do
  local name, record = ARGV[i], ARGV[i + 1]
  if record == '' then redis.call('HDEL', catalog_tools, name)
  else redis.call('HSET', catalog_tools, name, record) end
end
if redis.call('EXISTS', catalog_tools) == 1 then redis.call('HSET', catalog, 'version', version)
else redis.call('DEL', catalog) end
return {'done'}
