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
                              of the entry, JSON; it ends with an empty list if rules of shadow policies read records

ADDS          shadow          the number of the outcome, from 0
ADDS          would           its result
WRITES        if the outcome is allowed, the quotas that it takes; if its result differs, divergence
TIME          as for that many more quotas
HOLDS         I3 quotas all or nothing, I18 a shadow policy changes no answer
]]
--@ names
local enforced, asks, deciding, would, divergence, diverged_at, shadow_text
if arg_before.shadow then
  enforced, asks = tonumber(ARGV[arg_before.shadow + 1]), ARGV[arg_before.shadow + 2]
end
-- Which quotas are full; and, of those that are not the plan's own, what other parts say about them.
local is_full, aside
--@ wait
if asks then
  is_full, aside = {}, {}
  for number, kind in string.gmatch(asks, '(%d+)=(%S+) ') do
    local i = tonumber(number)
    if i > enforced then
      local quota, newest_spared, window_us = quota_at(i)
      local own = state.custom[i]
      local wait = own and own.wait or 0
      if kind ~= '-' and kind ~= 'take' then
        wait = live_wait(quota, kind, 1000)
      elseif not own or own.counts_calls then
        local oldest = call('LINDEX', quota, newest_spared)
        if oldest then wait = math.max(wait, oldest + window_us - (own and own.now_us or quota_us)) end
      end
      is_full[i], aside[i], state.custom[i] = wait > 0, own, {wait = 0}
    end
  end
end
--@ full
if asks then is_full[i] = true end
--@ judge
if asks then
  local number = 0
  deciding = 0
  for quota in string.gmatch(asks, '(%d+)=') do
    number = number + 1
    if deciding == 0 and is_full[tonumber(quota)] then deciding = number end
  end
  local outcome, policy_number = ARGV[arg_before.shadow + 3 + deciding], nil
  would, policy_number, diverged_at, shadow_text = string.match(outcome, '^(%l+) (%d+) (%d+) (.*)$')
  -- There would be no room for its approval, either.
  if state.approval == 'refused' and would == 'escalated' then would = 'denied' end
  if would ~= state.result then
    divergence = KEYS[key_before.shadow + tonumber(policy_number)]
    -- Scripts do not roll back: a key of the wrong type must fail before the first write.
    call('HLEN', divergence)
  end
end
--@ reply
if asks then
  reply[#reply + 1], reply[#reply + 2] = 'shadow', deciding
  reply[#reply + 1], reply[#reply + 2] = 'would', would
end
--@ entry
if divergence then
  if state.read_aside and state.read_aside ~= '[]' then
    shadow_text = string.sub(shadow_text, 1, -4) .. state.read_aside .. '}'
  end
  state.extras[#state.extras + 1] = 'shadow'
  state.extras[#state.extras + 1] = shadow_text
end
if would == 'allowed' then
  if state.result ~= 'allowed' then
    for i = 1, enforced do state.custom[i] = {wait = 0} end
  end
  for quota in string.gmatch(asks, '(%d+)=take ') do
    state.custom[tonumber(quota)] = aside[tonumber(quota)]
  end
  state.takes = true
end
--@ write
if divergence then
  if call('HGET', divergence, 'version') ~= diverged_at then
    call('DEL', divergence)
    call('HSET', divergence, 'version', diverged_at)
  end
  call('HINCRBY', divergence, state.result .. ' ' .. would, '1')
end
