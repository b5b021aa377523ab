--[[
groups: a plan made from policies of the agent's groups is committed only while these are unchanged.

ARGV[p+1]     group_versions  for each of the agent's groups: the field of `commits` that holds its version token, and the
                              token that the plan was made from, `-` = none; each followed by a space

RETURNS       stale           also if a group's token has changed
HOLDS         I8 an acknowledged change binds
]]
--@ names
local group_versions = arg_before.groups and ARGV[arg_before.groups + 1]
--@ refuse
if group_versions and state.status == 'committed' then
  local fields, planned = {}, {}
  for field, token in string.gmatch(group_versions, '(%S+) (%S+) ') do
    fields[#fields + 1], planned[#planned + 1] = field, token
  end
  for i, token in ipairs(call('HMGET', commits, unpack(fields))) do
    if (token or '-') ~= planned[i] then state.status = 'stale' end
    state.shared_version = state.shared_version .. ' ' .. (token or '')
  end
end
