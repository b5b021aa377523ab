#!lua flags=allow-oom
--[[
note_finding: tell webhooks that the log is not what was sealed; once, however often the same finding recurs.

KEYS[1]       notices         stream; events that are neither in the log nor in the trail

ARGV[1]       finding         JSON, passed through as bytes
ARGV[2]       kept            about how many notices are kept

RETURNS       {status}
  noted       it is the newest notice now
  known       it is among the newest 100 notices; nothing written
WRITES        notices
TIME          O(1)
HOLDS         I16 no event is lost unseen
]]
assert(#KEYS == 1 and #ARGV == 2, 'ARITY')
local notices = KEYS[1]
local finding, kept = ARGV[1], ARGV[2]

for _, notice in ipairs(redis.call('XREVRANGE', notices, '+', '-', 'COUNT', 100)) do
  if notice[2][2] == finding then return {'known'} end
end
redis.call('XADD', notices, 'MAXLEN', '~', kept, '*', 'finding', finding)
return {'noted'}
