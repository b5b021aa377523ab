#!lua flags=allow-oom
--[[
free_stream: commits can append again, whatever somebody else appended to the stream above them.

KEYS[1]       audit_stream    stream; the entries that wait to be sealed
KEYS[2]       commits         hash; what the last commit left
KEYS[3]       audit_poison    hash; entry id -> what was found, as JSON

ARGV[1]       sequence        of the last commit, when the entries above it were read; "0" = none
ARGV[2i]      entry_id        of entry i, which stands above it: no commit made it
ARGV[1+2i]    found           why it is set aside, and what it held

RETURNS       {status}
  freed       the named entries are in audit_poison, and the stream is gone: its next entry is the next commit's
  more        the named entries are, and others stand above the last commit; ask again
  unsealed    the named entries are, and entries of commits wait in the stream; seal them and ask again
  stale       there was another commit since; nothing written
WRITES        audit_poison, stream
TIME          O(N), N named entries
HOLDS         I2 no decision without its entry: nothing of a commit is removed, and the next one finds its place free
]]
assert(#KEYS == 3 and #ARGV % 2 == 1, 'ARITY')
local audit_stream, commits, audit_poison = KEYS[1], KEYS[2], KEYS[3]
local sequence = ARGV[1]

if (redis.call('HGET', commits, 'sequence') or '0') ~= sequence then return {'stale'} end
redis.call('HLEN', audit_poison)

for i = 2, #ARGV, 2 do
  local entry_id, found = ARGV[i], ARGV[i + 1]
  redis.call('HSETNX', audit_poison, entry_id, found)
  redis.call('XDEL', audit_stream, entry_id)
end
local last_id = sequence .. '-0'
if redis.call('XRANGE', audit_stream, '(' .. last_id, '+', 'COUNT', 1)[1] then return {'more'} end
if redis.call('XRANGE', audit_stream, '-', last_id, 'COUNT', 1)[1] then return {'unsealed'} end
-- An id once given out stays the stream's last, even if its entry is gone: XADD would go on refusing lower ones, and
-- Valkey refuses XSETID below the highest id that was ever deleted.
redis.call('DEL', audit_stream)
return {'freed'}
