--[[
explained: what would be committed is answered, and nothing is written.

RETURNS
  explained   the same as committed, for what would be; nothing written
]]
--@ judge
if arg_before.explained then return {'explained', decision_id, time_text, 0, full, retry_us, approval_text} end
