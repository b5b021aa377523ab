--[[
interval: a plan that was read off the clock holds in a span of the store's time.

ARGV[p+1]     holds_from_us   the plan holds at store times in
ARGV[p+2]     holds_until_us  [holds_from_us, holds_until_us)

RETURNS
  moved       store time is outside the interval; nothing written
]]
--@ names
local holds_from_us, holds_until_us
if arg_before.interval then holds_from_us, holds_until_us = unpack(ARGV, arg_before.interval + 1) end
--@ refuse
if holds_from_us and not refusal and (time_us < tonumber(holds_from_us) or time_us >= tonumber(holds_until_us)) then
  refusal = 'moved'
end
