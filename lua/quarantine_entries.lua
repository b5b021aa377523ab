#!lua flags=allow-oom
--[[
quarantine_entries: copy entries that cannot be sealed as they are to where a person can inspect them.

KEYS[1]       audit_stream    stream; the entries that are not sealed yet
KEYS[2]       audit_head      hash; the chain's newest link
KEYS[3]       audit_poison    hash; entry id -> what was found, as JSON

ARGV[1]       built_upon      sha256 of the head against which the entries were checked, or the workspace's genesis
ARGV[2]       sequence        of that head
ARGV[3]       foreign         how many of the entries, from the first on, leave the stream, because no commit made them
ARGV[2+2i]    entry_id        of entry i
ARGV[3+2i]    found           why it is quarantined, and its content

RETURNS       {status}
  kept        all are in audit_poison, as first found; the foreign ones are gone from the stream
  stale       the head has changed, so the entries may have been sealed, or restored, since; nothing written
WRITES        audit_poison, stream
TIME          O(N), N entries, at most those of one segment
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
