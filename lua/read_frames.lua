#!lua flags=no-writes
--[[
read_frames: return the requested zstd frames of some segments.

KEYS[-1+2i]   segment         hash; a sealed segment
KEYS[2i]      data            string; its entries

ARGV[1]       bytes_max       no further segment is read once the frames read so far have this many bytes
ARGV[1+i]     mask            frames of segment i: the sum of 2^j for each frame j; "" = all

RETURNS       {status, segments}
  read        a list for each segment read: its frames and digests as stored, then for each frame its index, from 0, and
              its bytes. An empty list if the segment is gone
WRITES        nothing
TIME          O(S + B), S segments, B bytes read, at most bytes_max and one segment
HOLDS         I5 entries are immutable
]]
assert(#KEYS % 2 == 0 and #ARGV == 1 + #KEYS / 2, 'ARITY')
local bytes_left = tonumber(ARGV[1])
local segments = {}
for i = 1, #KEYS / 2 do
  if bytes_left <= 0 then break end
  local segment, data = KEYS[2 * i - 1], KEYS[2 * i]
  local mask = tonumber(ARGV[1 + i]) or math.huge
  local record = redis.call('HMGET', segment, 'frames', 'digests')
  local frames, digests = record[1], record[2] or ''
  assert(mask == math.huge or mask < 2 ^ 53, 'A mask of more frames than a number holds exactly')
  local read, start, index = {frames, digests}, 0, 0
  if not frames then read = {} end
  -- The data is a string of its own, not a field of the hash: Lua would get the whole field, at ten times the cost.
  for size in string.gmatch(frames or '', '%d+%p(%d+)') do
    if mask == 0 then break end
    size = tonumber(size)
    if mask % 2 == 1 or mask == math.huge then
      local frame = redis.call('GETRANGE', data, start, start + size - 1)
      if #frame < size then
        read = {}
        break
      end
      read[#read + 1] = index
      read[#read + 1] = frame
      bytes_left = bytes_left - size
    end
    mask = math.floor(mask / 2)
    start = start + size
    index = index + 1
  end
  segments[i] = read
end
return {'read', segments}
