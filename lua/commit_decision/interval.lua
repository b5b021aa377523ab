--[[
interval: a plan that depends on the clock is committed only within the interval for which it was made.

ARGV[p+1]     holds_from_us   store time from which the plan holds
ARGV[p+2]     holds_until_us  store time at which it no longer does

RETURNS
  moved       the store time is outside the interval; nothing written
]]
--@ names
local holds_from_us, holds_until_us
if arg_before.interval then
  holds_from_us, holds_until_us = unpack(ARGV, arg_before.interval + 1)
end
--@ refuse
if holds_from_us and state.status == 'committed'
  and (time_us < tonumber(holds_from_us) or time_us >= tonumber(holds_until_us)) then
  state.status = 'moved'
end
