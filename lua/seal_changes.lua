#!lua flags=allow-oom
--[[
seal_changes: add a link to the trail's chain, for the changes that followed its newest link.

KEYS[1]       trail           stream; the changes, which stay there
KEYS[2]       changes_chain   stream; each link covers some changes, id = <position>-0

ARGV[1]       built_upon      sha256 of the previous link, or the trail's genesis
ARGV[2]       position_before how many changes the chain covers without this link
ARGV[3]       position        how many it covers with this link
ARGV[4]       last_id         id of the last change that the link covers
ARGV[5]       sha256          of built_upon (hex) followed by the changes as lines

RETURNS       {status, position}
  sealed      this link is the newest
  stale       the newest link is not the one built upon, or the last change is gone; nothing written
WRITES        changes_chain
TIME          O(1)
HOLDS         I13 no change without its entry in the trail
]]
assert(#KEYS == 2 and #ARGV == 5, 'ARITY')
local trail, changes_chain = KEYS[1], KEYS[2]
local built_upon, position_before, position, last_id, sha256 = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

local newest = redis.call('XREVRANGE', changes_chain, '+', '-', 'COUNT', 1)[1]
local newest_id = newest and newest[1] or '0-0'
if newest_id ~= position_before .. '-0' then return {'stale', position} end
if newest and newest[2][4] ~= built_upon then return {'stale', position} end
if not redis.call('XRANGE', trail, last_id, last_id)[1] then return {'stale', position} end

redis.call('XADD', changes_chain, position .. '-0', 'lastId', last_id, 'sha256', sha256, 'previous', built_upon)
return {'sealed', position}
