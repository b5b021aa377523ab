--[[
limits: rate limits with a bucket for each value of a field, budgets, from which a call takes an amount, and limits by
the calendar, all of whose calls count under one time until the period ends.

A budget's quota is a list of `<time> <total>`, newest first; amounts that count under one time are one entry. The total
is all that was ever taken, in millionths, modulo 2^52. Behind its live entries the list keeps the newest one that has left the window, or `0 0`. A budget's
`newest_spared` is its maximum, in millionths.

KEYS[p+i]     live            sorted set; one for each quota with a bucket name: the agent's live buckets of that rule;
                              score = when the bucket's window ends

ARGV[p+1]     takes           `<quota> <amount> <bucket> <counted_us>;` for each: its number; millionths of a budget, empty
                              = one call; the bucket's name in `live`, empty = the rule has only one bucket; the time
                              under which the call counts, empty = now

RETURNS       crowded         what the rule of the full quota has too many of: `values` = live buckets, `amounts` = live
                              entries of a budget
              retry_us        0 = room never comes
WRITES        if allowed, quota and live
TIME          O(log N) per quota
HOLDS         I3 quotas all or nothing
]]
--@ names
local takes = arg_before.limits and ARGV[arg_before.limits + 1]
--@ wait
if takes then
  -- A budget's totals are compared modulo 2^52; no window ever holds that much.
  local TOTALS, LIVE_MAX = 4503599627370496, 10000
  local place = key_before.limits

  -- Digits become numbers by arithmetic and indexes stay strings: tonumber and numeric indexes took twice the time.
  local function exact(number)
    assert(number >= 0 and number < EXACT, 'A budget holds what is no number')
    return number
  end
  local function time_of(entry) return exact(string.sub(entry, 1, string.find(entry, ' ', 1, true) - 1) + 0) end
  local function total_of(entry) return exact(string.sub(entry, string.find(entry, ' ', 1, true) + 1) + 0) end

  -- The first index from 0 to `last_one` whose entry `holds`, by binary search: once it holds, it holds for every later
  -- index, and it holds at `last_one`. Searches from the old end in doubling steps, because the answer is usually there.
  local function first_that(quota, last_one, holds)
    local found, fails, step = last_one, -1, 1
    while found > 0 do
      local probe = math.max(0, found - step)
      if not holds(call('LINDEX', quota, probe)) then
        fails = probe
        break
      end
      found, step = probe, step * 2
    end
    while found - fails > 1 do
      local middle = math.floor((found + fails) / 2)
      if holds(call('LINDEX', quota, middle)) then found = middle else fails = middle end
    end
    return found
  end

  -- How many entries are live, and the total of the newest one that is not. Usually the last three entries suffice.
  local function live_entries(quota, length, left_us)
    if length == 1 then return 0, total_of(call('LINDEX', quota, '-1')) end
    local second = call('LINDEX', quota, '-2')
    if time_of(second) > left_us then return length - 1, total_of(call('LINDEX', quota, '-1')) end
    if length == 2 then return 0, total_of(second) end
    if time_of(call('LINDEX', quota, '-3')) > left_us then return length - 2, total_of(second) end
    local live = first_that(quota, length - 3, function(entry) return time_of(entry) <= left_us end)
    return live, total_of(call('LINDEX', quota, live))
  end

  -- Time until the amount fits into the budget: 0 = now, math.huge = never. Sets in `own` what the write needs.
  local function budget_wait(own, quota, max, window_us, amount)
    local length, newest, oldest, live = call('LLEN', quota), 0, 0, 0
    if length > 0 then
      live, oldest = live_entries(quota, length, own.now_us - window_us)
      newest = live == 0 and oldest or total_of(call('LINDEX', quota, '0'))
    end
    own.amount, own.total, own.spare, own.length = amount, (newest + amount) % TOTALS, length - 1 - live, length
    if amount > max then return math.huge end
    local leaves
    if (newest - oldest) % TOTALS + amount > max then
      -- leaves: the newest of the entries that must leave the window before there is room.
      local function too_much(entry) return (newest - total_of(entry)) % TOTALS + amount > max end
      leaves = first_that(quota, live, too_much) - 1
    elseif amount > 0 and live >= LIVE_MAX then
      leaves, own.crowded = live - 1, 'amounts'
    end
    return leaves and time_of(call('LINDEX', quota, leaves)) + window_us - own.now_us or 0
  end

  for i, amount, bucket, counted_us in string.gmatch(takes, '(%d+) (%d*) (%x*) (%d*);') do
    i = i + 0
    local quota, newest_spared, window_us = quota_at(i)
    local own = {wait = 0, counts_calls = amount == '', now_us = quota_us}
    if counted_us ~= '' then
      -- By the clock, and not by quota time, which may be ahead: a period must not end for the one before it does for
      -- the other. Nor does a period that has begun end because the clock steps back.
      own.now_us = time_us
      local newest = string.match(call('LINDEX', quota, '0') or '0', '^%d+')
      own.joins = newest + 0 >= counted_us + 0
      own.time = own.joins and newest or counted_us
    end
    own.until_us = math.max(quota_us, (own.time or 0) + 0) + window_us
    if bucket ~= '' then
      place = place + 1
      local live = KEYS[place]
      own.live, own.bucket = live, bucket
      own.wait = live_wait(live, bucket, LIVE_MAX)
      if own.wait > 0 then own.crowded = 'values' end
    end
    if amount ~= '' then
      own.wait = math.max(own.wait, budget_wait(own, quota, newest_spared + 0, window_us + 0, amount + 0))
    end
    state.custom[i] = own
  end
end
--@ judge
local found_full = state.full > 0 and state.custom[state.full]
if found_full and found_full.crowded then
  state.crowded = found_full.crowded
  state.reason = 'This limit counts 10000 ' .. (state.crowded == 'values' and 'different values for the agent' or 'amounts') .. ' already'
end
--@ write
if takes and (state.result == 'allowed' or state.takes) then
  for i, own in pairs(state.custom) do
    local quota = quota_at(i)
    if own.live then
      keep_live(own.live, own.bucket, own.until_us)
      call('PEXPIREAT', own.live, expiry_of(own.until_us))
    end
    if own.amount and own.amount > 0 then
      if own.length == 0 then call('LPUSH', quota, '0 0') end
      local entry = (own.time or quota_text) .. ' ' .. string.format('%.0f', own.total)
      if own.joins then call('LSET', quota, '0', entry) else call('LPUSH', quota, entry) end
      if own.spare == 1 then
        call('RPOP', quota)
      elseif own.spare > 1 then
        call('RPOP', quota, math.min(64, own.spare))
      end
      call('PEXPIREAT', quota, expiry_of(own.until_us))
    end
  end
end
