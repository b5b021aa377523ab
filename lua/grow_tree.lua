#!lua flags=allow-oom
--[[
grow_tree: append to a Merkle tree what was sealed or chained since, in one step.

KEYS[1]       tree            hash; size, at, frontier, and the tiles: field `<level>:<n>`, 32 bytes for each subtree

ARGV[1]       size_before     leaves of the tree that this one continues; 0 = none
ARGV[2]       frontier_before its frontier
ARGV[3]       size            leaves of the new tree
ARGV[4]       at              what the tree now reaches: the number of a segment, or the id of a change
ARGV[5]       frontier        hashes of the largest subtrees in hex, left to right, with spaces between
ARGV[3+3i]    tile            field of tile i
ARGV[4+3i]    offset          bytes of the tile that stay; what stands after them is replaced
ARGV[5+3i]    hashes          the bytes that follow them

RETURNS       {status, size}
  grown       the tree has the new leaves
  stale       the tree is not the one that was continued; nothing written
WRITES        tree
TIME          O(T), T tiles of at most 8 KiB, one or two for a segment
HOLDS         I9 an entry is in the tree once, in its place
]]
assert(#KEYS == 1 and #ARGV >= 5 and (#ARGV - 5) % 3 == 0, 'ARITY')
local tree = KEYS[1]
local size_before, frontier_before, size, at, frontier = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

local now = redis.call('HMGET', tree, 'size', 'frontier')
if (now[1] or '0') ~= size_before or (now[2] or '') ~= frontier_before then return {'stale', size} end

for i = 6, #ARGV, 3 do
  local tile, offset, hashes = ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 2]
  local stays = string.sub(redis.call('HGET', tree, tile) or '', 1, offset)
  redis.call('HSET', tree, tile, stays .. hashes)
end
redis.call('HSET', tree, 'size', size, 'at', at, 'frontier', frontier)
return {'grown', size}
