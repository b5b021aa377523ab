#!lua flags=allow-oom
--[[
drop_segment: remove the oldest segment with its index; the floor records where the log now begins.

KEYS[1]       audit_head      hash; the chain's newest link, and the floor
KEYS[2]       audit_segment   hash; the segment
KEYS[3]       audit_data      string; its entries
KEYS[4]       audit_parts     hash; part -> "<first sequence> <first ms> <last ms>"
KEYS[5]       audit_columns   hash; segment -> its columns
KEYS[6]       audit_names     hash; the names of the part's columns
KEYS[7]       audit_hours     hash; the numbers of the part's entries by hour, of whole parts
KEYS[7+i]     index           sorted set that names the segment

ARGV[1]       number          of the segment
ARGV[2]       sha256          of the segment
ARGV[3]       next_sequence   one above its last sequence number
ARGV[4]       floor_ms        the newest timestamp among dropped entries
ARGV[5]       unarchived      "1" = drop it even if no archive has it
ARGV[6]       ended_part      the part whose last segment it is; "" = none
ARGV[7]       floor_tree      the subtrees of the Merkle tree that end with the segment, in hex; those of less than 256
ARGV[7+i]     member          of index i

RETURNS       {status, number}
  dropped     the segment is gone; the log begins with the next one
  kept        it is not the oldest, has another sha256, is the head, or is not archived; nothing written
WRITES        every key named
TIME          O(I log S), I indexes of at most S = 128 segments
HOLDS         I9 nothing is dropped out of order, nor before it is archived
]]
assert(#KEYS >= 7 and #ARGV == #KEYS, 'ARITY')
local audit_head, audit_segment, audit_data, audit_parts = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local audit_columns, audit_names, audit_hours = KEYS[5], KEYS[6], KEYS[7]
local number, sha256, next_sequence, floor_ms = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local unarchived, ended_part, floor_tree = ARGV[5], ARGV[6], ARGV[7]

local head = redis.call('HMGET', audit_head, 'segment', 'floor_segment', 'archived')
if tonumber(head[2] or 1) ~= tonumber(number) then return {'kept', number} end
if tonumber(head[1] or 0) <= tonumber(number) then return {'kept', number} end
if unarchived ~= '1' and tonumber(head[3] or 0) < tonumber(number) then return {'kept', number} end
if redis.call('HGET', audit_segment, 'sha256') ~= sha256 then return {'kept', number} end

redis.call('HSET', audit_head, 'floor_segment', string.format('%.0f', tonumber(number) + 1),
  'floor_sequence', next_sequence, 'floor_ms', floor_ms, 'floor_sha256', sha256,
  'floor_tree', floor_tree)
if tonumber(head[3] or 0) < tonumber(number) then redis.call('HSET', audit_head, 'unarchived', number) end
for i = 8, #KEYS do redis.call('ZREM', KEYS[i], ARGV[i]) end
redis.call('HDEL', audit_columns, number)
if ended_part ~= '' then
  redis.call('HDEL', audit_parts, ended_part)
  redis.call('DEL', audit_names)
end
redis.call('DEL', audit_segment, audit_data, audit_hours)
return {'dropped', number}
