#!lua flags=no-writes
--[[
read_frames: of some segments, only the zstd frames that are asked for.

KEYS[-1+2i]   segment         hash; a sealed segment
KEYS[2i]      data            string; its entries

ARGV[1]       bytes_max       a segment that begins beyond so many bytes is left for another call
ARGV[1+i]     mask            frames of segment i, the sum of 2^j for every frame j; "" = all of them

RETURNS       {status, segments}
  read        for each segment, from the first on as far as bytes_max lets it, a list: its frames, digests, previous and
              sha256 as they are stored, then the place of a frame, from 0, that frame, and so on. An empty list where
              the segment is gone; all frames of one without digests, for its sha256 is of them all
WRITES        nothing
TIME          O(S + B), S segments, B bytes of what is read, at most bytes_max and one segment
HOLDS         I5 entries are immutable
]]
assert(#KEYS % 2 == 0 and #ARGV == 1 + #KEYS / 2, 'ARITY')
local bytes_left = tonumber(ARGV[1])
local segments = {}
for i = 1, #KEYS / 2 do
  if bytes_left <= 0 then break end
  local segment, data = KEYS[2 * i - 1], KEYS[2 * i]
  local mask = tonumber(ARGV[1 + i]) or math.huge
  local record = redis.call('HMGET', segment, 'frames', 'digests', 'previous', 'sha256')
  local frames, digests, previous, sha256 = record[1], record[2] or '', record[3] or '', record[4] or ''
  local read, start, place = {frames, digests, previous, sha256}, 0, 0
  if not frames then read = {} end
  if digests == '' then mask = math.huge end
  -- A range of a string, and not a field of the hash: Lua would be handed all of it, and that is ten times the work.
  for size in string.gmatch(frames or '', '%d+%p(%d+)') do
    if mask == 0 then break end
    size = tonumber(size)
    if mask % 2 == 1 or mask == math.huge then
      local frame = redis.call('GETRANGE', data, start, start + size - 1)
      if #frame < size then
        read = {}
        break
      end
      read[#read + 1] = place
      read[#read + 1] = frame
      bytes_left = bytes_left - size
    end
    mask = math.floor(mask / 2)
    start = start + size
    place = place + 1
  end
  segments[i] = read
end
return {'read', segments}
