--[[
refunds: record what an allowed call takes from refundable quotas, so that it is given back if the call is not executed.

KEYS[p+1]     taken           string; a line for each of these quotas: time, amount (- = one call), key

ARGV[p+1]     refundable      `<quota> <amount>` for each, - = one call, followed by a space; `~` before the amount = of a
                              shadow policy, which no report counts

WRITES        if allowed, taken for 24 hours
]]
--@ names
local taken = arg_before.refunds and KEYS[key_before.refunds + 1]
local refundable = taken and ARGV[arg_before.refunds + 1]
--@ judge
-- Scripts do not roll back: a key of the wrong type must fail before the first write.
if taken then call('STRLEN', taken) end
--@ write
if taken and state.result == 'allowed' then
  local lines = {}
  for number, amount in string.gmatch(refundable, '(%d+) (%S+) ') do
    local quota, own = quota_at(number), state.custom[tonumber(number)]
    if not own or own.counts_calls or own.amount then
      lines[#lines + 1] = quota_text .. ' ' .. amount .. ' ' .. quota
    end
  end
  if #lines > 0 then call('SET', taken, table.concat(lines, '\n'), 'PX', '86400000') end
end
