#!lua
--[[
read_frames: of some segments, only the zstd frames that are asked for.

KEYS[i]       segment         hash; a sealed segment

ARGV[i]       mask            frames of segment i, the sum of 2^j for every frame j; "" = all of them

RETURNS       {status, segments}
  read        for each segment a list: its field `frames`, then those frames; an empty list where it is gone
WRITES        nothing
TIME          O(B), B bytes of the segments' data
HOLDS         I5 entries are immutable
]]
local segments = {}
for i = 1, #KEYS do
  local fields = redis.call('HMGET', KEYS[i], 'frames', 'data')
  local frames, data = fields[1], fields[2]
  local read = {}
  if frames and data then
    read[1] = frames
    if ARGV[i] == '' then
      read[2] = data
    else
      local mask, start = tonumber(ARGV[i]), 1
      for _, size in string.gmatch(frames, '(%d+)%p(%d+)') do
        if mask % 2 == 1 then read[#read + 1] = string.sub(data, start, start + tonumber(size) - 1) end
        mask = math.floor(mask / 2)
        start = start + tonumber(size)
      end
    end
  end
  segments[i] = read
end
return {'read', segments}
