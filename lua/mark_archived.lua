#!lua flags=allow-oom
--[[
mark_archived: record up to which segment the log is archived.

KEYS[1]       audit_head      hash; the chain's newest link
KEYS[2]       audit_segment   hash; the last segment that was archived

ARGV[1]       number          of the segment
ARGV[2]       sha256          of the segment as it was archived

RETURNS       {status}
  noted       everything up to the segment is recorded as archived, now or before
  other       the stored segment is not the one that was archived; nothing written
WRITES        the head's field `archived`, which never decreases
TIME          O(1)
HOLDS         I9 nothing is dropped before it is archived
]]
assert(#KEYS == 2 and #ARGV == 2, 'ARITY')
local audit_head, audit_segment = KEYS[1], KEYS[2]
local number, sha256 = ARGV[1], ARGV[2]

local archived = tonumber(redis.call('HGET', audit_head, 'archived') or 0)
if archived >= tonumber(number) then return {'noted'} end
if redis.call('HGET', audit_segment, 'sha256') ~= sha256 then return {'other'} end
redis.call('HSET', audit_head, 'archived', number)
return {'noted'}
