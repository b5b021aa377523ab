#!lua flags=allow-oom
--[[
seal_segment: move the oldest entries of the stream into a segment, with its index, in one step.

KEYS[1]       audit_stream    stream; its oldest entries are the segment's
KEYS[2]       audit_head      hash; the chain's newest link
KEYS[3]       audit_segment   hash; the new segment
KEYS[4]       audit_data      string; its entries
KEYS[5]       audit_parts     hash; part -> "<first sequence> <first ms> <last ms>"
KEYS[6]       audit_columns   hash; segment -> its columns
KEYS[7]       audit_names     hash; segment -> the names that it adds to those of the part's columns
KEYS[8]       audit_hours     hash; table -> the numbers of the part's entries by hour
KEYS[8+i]     index           sorted set; score = last_ms, member = the segment and its entries of this index

ARGV[1]       built_upon      sha256 of the previous segment, which is the head, or the workspace's genesis
ARGV[2]       oldest_id       id of the stream's oldest entry when it was read
ARGV[3]       number          of the segment, from 1
ARGV[4]       first_sequence  of its entries; one above the head's sequence
ARGV[5]       last_sequence   of its entries
ARGV[6]       first_ms        earliest time of its entries
ARGV[7]       last_ms         latest time of its entries
ARGV[8]       count           of its entries
ARGV[9]       codec           of data: zstd
ARGV[10]      sha256          of built_upon (hex) followed by the uncompressed data
ARGV[11]      frames          "<entries>:<bytes>" of each zstd frame in data, comma-separated
ARGV[12]      data            the entries as JSON lines, compressed
ARGV[13]      part            of the log that the segment belongs to
ARGV[14]      span            the part's new value in audit_parts
ARGV[15]      names           number of names in the part's indexes, by dimension
ARGV[16]      digests         of each stored frame, comma-separated; readers verify frames with them
ARGV[17]      columns         what the entries can be counted by, compressed
ARGV[18]      new_names       that the segment adds, compressed; "" = none
ARGV[19]      code            table of the part's hours, compressed; "" = none, as unless the part ends with the segment
ARGV[20]      tool            another; "" = none
ARGV[21]      policy          another; "" = none
ARGV[22]      agent           another; "" = none
ARGV[23]      calls           another; "" = none
ARGV[23+i]    member          of index i

RETURNS       {status, number}
  sealed      the segment, its index and the head are written; its entries are gone from the stream
  stale       the head is not the one built upon; nothing written
  moved       the stream no longer starts with oldest_id; nothing written
  occupied    there is a segment with this number, and first_sequence is not in the stream any more: the head is not the
              one last written; nothing written
WRITES        segment, data, columns, names, hours, indexes, part, head; trims exactly the sealed entries from the stream
TIME          O(I log S + N), I indexes of at most S = 128 segments, N entries
HOLDS         I9 compaction loses and duplicates nothing
]]
assert(#KEYS >= 8 and #ARGV == 15 + #KEYS, 'ARITY')
local audit_stream, audit_head, audit_segment = KEYS[1], KEYS[2], KEYS[3]
local audit_data, audit_parts, audit_columns, audit_names, audit_hours = KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local built_upon, oldest_id, number = ARGV[1], ARGV[2], ARGV[3]
local first_sequence, last_sequence, first_ms, last_ms, count = ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8]
local codec, sha256, frames, data = ARGV[9], ARGV[10], ARGV[11], ARGV[12]
local part, span, names, digests = ARGV[13], ARGV[14], ARGV[15], ARGV[16]
local columns, new_names = ARGV[17], ARGV[18]
local code, tool, policy, agent, calls = ARGV[19], ARGV[20], ARGV[21], ARGV[22], ARGV[23]

local head = redis.call('HMGET', audit_head, 'segment', 'sequence', 'sha256')
if (head[3] or built_upon) ~= built_upon then return {'stale', number} end
if tonumber(head[1] or 0) + 1 ~= tonumber(number) then return {'stale', number} end
if tonumber(head[2] or 0) + 1 ~= tonumber(first_sequence) then return {'stale', number} end
local oldest = redis.call('XRANGE', audit_stream, '-', '+', 'COUNT', 1)[1]
if not oldest or oldest[1] ~= oldest_id then return {'moved', number} end
-- A segment that was only half written, because a command of this script was refused, is written again.
if oldest_id ~= first_sequence .. '-0' and redis.call('EXISTS', audit_segment) > 0 then return {'occupied', number} end

-- The stream is trimmed last: if the server dies while it persists these writes, the entries are still there.
redis.call('HSET', audit_segment, 'number', number, 'first_sequence', first_sequence,
  'last_sequence', last_sequence, 'first_ms', first_ms, 'last_ms', last_ms, 'count', count, 'codec', codec,
  'sha256', sha256, 'previous', built_upon, 'frames', frames, 'digests', digests)
redis.call('SET', audit_data, data)
for i = 9, #KEYS do redis.call('ZADD', KEYS[i], last_ms, ARGV[15 + i]) end
redis.call('HSET', audit_columns, number, columns)
if new_names ~= '' then redis.call('HSET', audit_names, number, new_names) else redis.call('HDEL', audit_names, number) end
redis.call('DEL', audit_hours)
for _, each in ipairs({{'code', code}, {'tool', tool}, {'policy', policy}, {'agent', agent}, {'calls', calls}}) do
  if each[2] ~= '' then redis.call('HSET', audit_hours, each[1], each[2]) end
end
redis.call('HSET', audit_parts, part, span)
redis.call('HSET', audit_head, 'segment', number, 'sequence', last_sequence, 'sha256', sha256,
  'last_ms', last_ms, 'names', names)
redis.call('XTRIM', audit_stream, 'MINID', string.format('%.0f', tonumber(last_sequence) + 1) .. '-0')
return {'sealed', number}
