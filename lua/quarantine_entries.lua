#!lua flags=allow-oom
--[[
quarantine_entries: keep what of the stream cannot be sealed as it is where a person can look at it.

KEYS[1]       audit_stream    stream; the entries that wait to be sealed
KEYS[2]       audit_head      hash; the chain's newest link
KEYS[3]       audit_poison    hash; entry id -> what was found, as JSON

ARGV[1]       built_upon      sha256 of the head that the entries were judged by, or the workspace's genesis
ARGV[2]       sequence        the head's
ARGV[3]       foreign         how many entries, the first ones named here, leave the stream: no commit made them
ARGV[2+2i]    entry_id        of entry i
ARGV[3+2i]    found           why it is set aside, and what it held

RETURNS       {status}
  kept        all are in audit_poison, as they were found first, and the foreign ones are gone from the stream
  stale       the head is another: what was judged may be in the log meanwhile, or back from it; nothing written
WRITES        audit_poison, stream
TIME          O(N), N entries of one segment at most
HOLDS         I9 compaction loses and duplicates nothing
]]
assert(#KEYS == 3 and #ARGV >= 3 and (#ARGV - 3) % 2 == 0, 'ARITY')
local audit_stream, audit_head, audit_poison = KEYS[1], KEYS[2], KEYS[3]
local built_upon, sequence, foreign = ARGV[1], ARGV[2], tonumber(ARGV[3])

local head = redis.call('HMGET', audit_head, 'sequence', 'sha256')
if (head[2] or built_upon) ~= built_upon then return {'stale'} end
if tonumber(head[1] or 0) ~= tonumber(sequence) then return {'stale'} end

for i = 4, #ARGV, 2 do
  redis.call('HSETNX', audit_poison, ARGV[i], ARGV[i + 1])
end
for i = 1, foreign do
  redis.call('XDEL', audit_stream, ARGV[2 + 2 * i])
end
return {'kept'}
