--[[
explained: return what would be committed, and write nothing.

RETURNS
  explained   the elements are those that `committed` would have; nothing written
]]
--@ judge
if arg_before.explained then return {'explained', decision_id, time_text, 0, full, retry_us, approval_text} end
