--[[
records: a rule about what a runtime reported in the session is treated as a quota that is full unless it was so.

This quota's key is not a list but session_records (see record_outcome): record -> when it was reported (ms), the tool,
and `<field>=<value>` for each of its fields, each after a space. Names are digests, values JSON without spaces.

ARGV[p+1]     reads           a line for each such quota: its number; `asks`, `passes` = never full, or `aside` = as asks,
                              and told beside what it would do; how long a record counts (ms); the record; the tools, each
                              followed by a comma; what is told of it, JSON up to its fields; then for each field its digest, its name
                              in JSON and a colon (`~` before it = the value is told to nobody), how many tests follow,
                              and these: a sign and a value: `=` = one of these, `!` = none of these, `>` and `<` = a
                              number from, and up to

HOLDS         I2 no decision without its entry, I14 an approval is of one call, used as often as it says
]]
--@ names
local reads = arg_before.records and ARGV[arg_before.records + 1]
--@ wait
if reads then
  -- What the values of one type have in common.
  local function kind(value)
    local first = string.sub(value, 1, 1)
    if first == 't' then return 'f' end
    return (first == '"' or first == 'f' or first == 'n') and first or '0'
  end
  -- True if a value passes all tests; `fits` in app/model/records.py says the same.
  local function fits(value, tests)
    local wanted, is_alike, is_among = {}, {}, {}
    for _, test in ipairs(tests) do
      local sign, operand = string.sub(test, 1, 1), string.sub(test, 2)
      if sign == '=' or sign == '!' then
        wanted[sign] = true
        is_alike[sign] = is_alike[sign] or kind(operand) == kind(value)
        is_among[sign] = is_among[sign] or operand == value
      else
        local number = kind(value) == '0' and tonumber(value)
        if not number then return false end
        if sign == '>' and not (number >= tonumber(operand)) then return false end
        if sign == '<' and not (number <= tonumber(operand)) then return false end
      end
    end
    if wanted['='] and not is_among['='] then return false end
    return not wanted['!'] or (is_alike['!'] and not is_among['!'])
  end

  state.read, state.read_aside = {}, {}
  for line in string.gmatch(reads, '[^\n]+') do
    local i, how, within_ms, record, tools, of, rest =
      string.match(line, '^(%d+) (%l+) (%d+) (%x+) (%S+) (%S+)(.*)$')
    local quota = quota_at(i)
    local at_ms, tool, said = string.match(call('HGET', quota, record) or '', '^(%d+) (%x+)(.*)$')
    local age_ms = at_ms and time_ms - tonumber(at_ms)
    -- Reported later than now: the clock has been set back, and how old the record is, is not known.
    local found = age_ms and age_ms >= 0 and age_ms < tonumber(within_ms) and string.find(tools, tool .. ',', 1, true)
    local values, told, passes = {}, {}, found and true or false
    for field, value in string.gmatch(found and said or '', ' (%x+)=(%S+)') do values[field] = value end
    local next_word = string.gmatch(rest, '%S+')
    for field in next_word do
      local name, count, tests = next_word(), tonumber(next_word()), {}
      for n = 1, count do tests[n] = next_word() end
      local value = values[field]
      passes = passes and value ~= nil and fits(value, tests)
      if value then
        local is_secret = string.sub(name, 1, 1) == '~'
        told[#told + 1] = is_secret and string.sub(name, 2) .. '"[REDACTED]"' or name .. value
      end
    end
    local read = how == 'aside' and state.read_aside or state.read
    read[#read + 1] = of .. (found and '{' .. table.concat(told, ',') .. '}' or 'null') .. '}'
    state.custom[tonumber(i)] = {wait = (passes or how == 'passes') and 0 or math.huge}
  end
  -- In one order, whichever of the rules decides: an approval is bound to it.
  for _, read in ipairs({'read', 'read_aside'}) do
    table.sort(state[read])
    state[read] = '[' .. table.concat(state[read], ',') .. ']'
  end
end
--@ entry
if state.read and state.read ~= '[]' then
  state.extras[#state.extras + 1] = 'records'
  state.extras[#state.extras + 1] = state.read
end
