--[[
codes: the entry says the code of the plan's outcome, because that is not the usual one for its result and its rule.

ARGV[p+1]     code            of the outcome if every quota has room; a full quota's outcome has the usual code
]]
--@ names
local code = arg_before.codes and ARGV[arg_before.codes + 1]
--@ judge
if code and state.full == 0 then state.code = code end
