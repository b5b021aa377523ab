#!lua flags=allow-oom
--[[
free_stream: remove entries that no commit made and whose higher ids keep commits from appending.

KEYS[1]       audit_stream    stream; the entries that are not sealed yet
KEYS[2]       commits         hash; state of the last commit
KEYS[3]       audit_poison    hash; entry id -> what was found, as JSON

ARGV[1]       sequence        of the last commit, when the entries above it were read; "0" = none
ARGV[2i]      entry_id        of entry i, which is above the last commit's and so made by no commit
ARGV[1+2i]    found           why it is quarantined, and its content

RETURNS       {status}
  freed       the named entries are in audit_poison, and the stream is deleted: its next entry is the next commit's
  more        the named entries are in audit_poison, but there are others above the last commit; call again
  unsealed    the named entries are in audit_poison, but the stream has entries of commits; seal them and call again
  stale       there has been another commit since; nothing written
WRITES        audit_poison, stream
TIME          O(N), N named entries
HOLDS         I2 no decision without its entry: no entry of a commit is removed, and the next one can be appended
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
-- A stream remembers its last id even when that entry is deleted: XADD would go on refusing lower ids, and Valkey
-- refuses XSETID below the highest deleted id.
redis.call('DEL', audit_stream)
return {'freed'}
