#!lua
--[[
put_agent: create an agent, or replace the record of one that has not changed since it was read.

KEYS[1]       agent           hash; the agent's record
KEYS[2]       agents          sorted set; member = agent id, score = created_ms

ARGV[1]       expected        version token the caller read; "" = create
ARGV[2]       version         the new version token
ARGV[3]       id              agent id
ARGV[2+2i]    field           field i of the record
ARGV[3+2i]    value           value i; every field but the times, the revision and the version is given

RETURNS       {status, created_ms, updated_ms, revision}
  done        the record holds exactly the given fields, created_ms, updated_ms, revision and version;
              the revision counts the changes of the agent's own fields, from 1
  stale       the record is not at `expected`; nothing written, numbers are 0
WRITES        agent, agents
TIME          O(log N), N agents
HOLDS         I8 an acknowledged change binds every later decision
]]
local agent, agents = KEYS[1], KEYS[2]
local expected, version, id = ARGV[1], ARGV[2], ARGV[3]
local clock = redis.call('TIME')
local now_ms = clock[1] * 1000 + math.floor(clock[2] / 1000)

local held = redis.call('HMGET', agent, 'version', 'created_ms', 'updated_ms', 'revision')
if (held[1] or '') ~= expected then return {'stale', 0, 0, 0} end
-- Scripts do not roll back: a key of another type must be an error before the first write.
redis.call('ZCARD', agents)
local created_ms = tonumber(held[2] or now_ms)
-- Strictly later than before, so that two changes within a millisecond can be told apart.
local updated_ms = held[3] and math.max(now_ms, tonumber(held[3]) + 1) or now_ms
local revision = held[1] and tonumber(held[4] or 1) + 1 or 1

local record = {'created_ms', string.format('%.0f', created_ms), 'updated_ms', string.format('%.0f', updated_ms),
  'revision', revision, 'version', version}
for i = 4, #ARGV do record[#record + 1] = ARGV[i] end
redis.call('DEL', agent)
redis.call('HSET', agent, unpack(record))
redis.call('ZADD', agents, string.format('%.0f', created_ms), id)
return {'done', created_ms, updated_ms, revision}
