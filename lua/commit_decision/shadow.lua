--[[
shadow: note what would be decided if the agent's shadow policies were enforced as well, where the result would differ.

Quotas that only shadow policies need come after the plan's own. The plan treats them as having room and never takes them.

KEYS[p+i]     divergence      hash; one for each policy that an outcome names: the policy's `version`, and for that
                              version `<result> <result with shadow policies>` -> how often it was so

ARGV[p+1]     enforced        how many of the quotas are the plan's own
ARGV[p+2]     asks            the quotas that count here, in the order in which a full one decides: `<quota>=<kind>`, each
                              followed by a space. kind: - = only read, take = taken if the outcome is allowed; anything
                              else is a session's name in the `live` of a mark, and the quota is full if that has no room
ARGV[p+2+i]   outcome         first the outcome if all have room, then for each the outcome if it is the first full one:
                              `<result> <number of its divergence> <version of the policy> <shadow>`; shadow is the field
                              of the entry, JSON

RETURNS       approval        ends in a line feed and `<number of the outcome, from 0> <its result>`
WRITES        if the outcome is allowed, the quotas that it takes; if its result differs, divergence
TIME          as for that many more quotas
HOLDS         I3 quotas all or nothing, I18 a shadow policy changes no answer
]]
--@ names
local shadow_at, is_full, aside = arg_before.shadow, {}, {}
--@ wait
if shadow_at then
  owns = owns or {}
  for number, kind in string.gmatch(ARGV[shadow_at + 2], '(%d+)=(%S+) ') do
    local i = tonumber(number)
    if i > tonumber(ARGV[shadow_at + 1]) then
      local own = owns[i]
      local wait = own and own.wait or 0
      if kind ~= '-' and kind ~= 'take' then
        wait = live_wait(4 + i, kind, 1000)
      elseif not own or own.counts_calls then
        local oldest = call('LINDEX', KEYS[4 + i], ARGV[11 + 6 * i])
        if oldest then wait = math.max(wait, oldest + ARGV[12 + 6 * i] - quota_us) end
      end
      is_full[i], aside[i], owns[i] = wait > 0, own, {wait = 0}
    end
  end
end
--@ full
is_full[i] = true
--@ judge
local would, divergence, diverged_at, shadow_text
if shadow_at then
  local number, place, policy_number = 0, 0, nil
  for quota in string.gmatch(ARGV[shadow_at + 2], '(%d+)=') do
    number = number + 1
    if place == 0 and is_full[tonumber(quota)] then place = number end
  end
  would, policy_number, diverged_at, shadow_text =
    string.match(ARGV[shadow_at + 3 + place], '^(%l+) (%d+) (%d+) (.*)$')
  -- There would be no room for its approval, either.
  if became == 'refused' and would == 'escalated' then would = 'denied' end
  if would ~= result then
    divergence = KEYS[key_before.shadow + tonumber(policy_number)]
    -- Scripts do not roll back: a key of the wrong type must fail before the first write.
    call('HLEN', divergence)
  end
  approval_text = approval_text .. '\n' .. place .. ' ' .. would
end
--@ entry
if divergence then
  extras[#extras + 1] = 'shadow'
  extras[#extras + 1] = shadow_text
end
if would == 'allowed' then
  if not takes then
    for i = 1, tonumber(ARGV[shadow_at + 1]) do owns[i] = {wait = 0} end
  end
  for quota in string.gmatch(ARGV[shadow_at + 2], '(%d+)=take ') do owns[tonumber(quota)] = aside[tonumber(quota)] end
  takes = true
end
--@ write
if divergence then
  if call('HGET', divergence, 'version') ~= diverged_at then
    call('DEL', divergence)
    call('HSET', divergence, 'version', diverged_at)
  end
  call('HINCRBY', divergence, result .. ' ' .. would, '1')
end
