--[[
explained: return what would be committed, and write nothing.

RETURNS
  explained   the elements are those that `committed` would have; nothing written
]]
--@ judge
if arg_before.explained and state.status == 'committed' then state.status = 'explained' end
