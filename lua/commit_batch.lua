#!lua
--[[
commit_batch: turn several plans of one API key into decisions, one after the other, each as commit_decision does.

The lines `--@ commit_decision` and `--@ commit_with_parts` below are replaced by the bodies of these scripts. They run
unchanged, but for their `call`: the clock, the caller's record, agents' versions and `commits` are read once for all
calls, and `commits` is written once at the end.

KEYS[i]       key             of each call, one call after the other, as its script declares them; of one `again`, none

ARGV[1]       mode            each = every call is decided; allowed = all are allowed, or nothing is written: their plans
                              allow them; logged = all get their entry, or nothing is written: their plans deny them. In
                              both, none asks a person, and either all or none repeat a first answer
ARGV[2]       calls           for each call, each followed by a space: its script, `plain` or `parts`, and how many keys
                              and arguments it has; or `again`, 0, and how many of its arguments, which are its first,
                              may differ from those of the call before: all else is as there
ARGV[2+i]     argument        of each call, likewise; of one `again`, those that may differ

RETURNS       {status, replies}
  done        then the reply of each call, in order; `failed` and why, if its script failed. Nothing was written for that
              call and those after it
  refused     not in mode each: then the place of the first call for which that does not hold, and its reply; nothing
              was written
WRITES        as these scripts
TIME          O(C), C calls of these scripts, each 40 us on our machine; at most 48 in mode each, else 128
HOLDS         I2 no decision without its entry, I3 quotas all or nothing, I4 a call that is not allowed costs nothing,
              I7 a revoked key gets no decision, I8 an acknowledged change binds
]]
local mode, calls = ARGV[1], ARGV[2]
local ask = redis.call
local caller_key, commits = KEYS[1], KEYS[3]
assert(commits and calls and string.find(calls, '^%l+ %d+ %d+ '), 'ARITY')

local clock, caller, versions = nil, nil, {}
local fields, written = {}, {}
local reads = {}
function reads.TIME()
  clock = clock or ask('TIME')
  return clock
end
function reads.HMGET(key, ...)
  if key == caller_key then
    caller = caller or ask('HMGET', key, ...)
    return caller
  elseif key ~= commits then
    return ask('HMGET', key, ...)
  end
  local names, values = {...}, {...}
  for i = 1, #names do
    if fields[names[i]] == nil then
      for j, value in ipairs(ask('HMGET', key, ...)) do
        if fields[names[j]] == nil then fields[names[j]] = value end
      end
    end
    values[i] = fields[names[i]]
  end
  return values
end
function reads.HGET(key, field)
  if field ~= 'version' then return ask('HGET', key, field) end
  if versions[key] == nil then versions[key] = ask('HGET', key, field) end
  return versions[key]
end
function reads.HSET(key, ...)
  if key ~= commits then
    if key == caller_key then caller = nil end
    versions[key] = nil
    return ask('HSET', key, ...)
  end
  local pairs_given = {...}
  for i = 1, #pairs_given, 2 do
    fields[pairs_given[i]], written[pairs_given[i]] = pairs_given[i + 1], pairs_given[i + 1]
  end
end
local function call(name, ...)
  local own = reads[name]
  if own then return own(...) end
  return ask(name, ...)
end

-- In the other modes, what is taken is taken at once, since the next call must see it, and can be given back. Entries,
-- which cannot, are held until every call is known to hold; a commit reads nothing of them but their number.
local held, undo = {}, {}
if mode ~= 'each' then
  function reads.XADD(...) held[#held + 1] = {...} end
  function reads.XLEN(stream) return ask('XLEN', stream) + #held end
  function reads.LPUSH(key, ...)
    undo[#undo + 1] = {'LPOP', key}
    return ask('LPUSH', key, ...)
  end
  function reads.SET(key, ...)
    undo[#undo + 1] = {'DEL', key}
    return ask('SET', key, ...)
  end
  function reads.ZADD(key, score, name)
    local before = ask('ZSCORE', key, name)
    undo[#undo + 1] = before and {'ZADD', key, before, name} or {'ZREM', key, name}
    return ask('ZADD', key, score, name)
  end
  function reads.HINCRBY(key, field, by)
    local before = ask('HGET', key, field)
    undo[#undo + 1] = before and {'HSET', key, field, before} or {'HDEL', key, field}
    return ask('HINCRBY', key, field, by)
  end
  local set = reads.HSET
  function reads.HSET(key, ...)
    if key ~= commits and key ~= caller_key then
      local given = {...}
      for i = 1, #given, 2 do
        local before = ask('HGET', key, given[i])
        undo[#undo + 1] = before and {'HSET', key, given[i], before} or {'HDEL', key, given[i]}
      end
    end
    return set(key, ...)
  end
end
local function give_back()
  for i = #undo, 1, -1 do ask(unpack(undo[i])) end
end
local replies = {'done'}
-- A call whose plan allows it is allowed if no quota is full and nothing is crowded.
local function holds(reply)
  local first = replies[2] or reply
  if reply[1] ~= first[1] or reply[1] ~= 'committed' and reply[1] ~= 'repeated' then return false end
  if reply[1] == 'repeated' or mode == 'logged' then return true end
  for i = 7, #reply, 2 do
    if reply[i] == 'crowded' then return false end
  end
  return reply[5] == 0
end

local redis = {call = call}
local function plain(KEYS, ARGV)
--@ commit_decision
end
local function parts(KEYS, ARGV)
--@ commit_with_parts
end

local key_at, arg_at, failed = 0, 2, nil
local script, keys, args
for kind, key_count, arg_count in string.gmatch(calls, '(%l+) (%d+) (%d+) ') do
  if kind == 'again' then
    -- In the same tables: no script keeps them, or changes them.
    local differing = {unpack(ARGV, arg_at + 1, arg_at + arg_count)}
    for i = 1, #differing do args[i] = differing[i] end
  else
    script = kind == 'plain' and plain or parts
    keys, args = {unpack(KEYS, key_at + 1, key_at + key_count)}, {unpack(ARGV, arg_at + 1, arg_at + arg_count)}
  end
  key_at, arg_at = key_at + key_count, arg_at + arg_count
  local is_done, reply = false, failed
  if not failed then is_done, reply = pcall(script, keys, args) end
  if not is_done then
    failed = type(reply) == 'table' and (reply.err or 'no reply') or reply
    reply = {'failed', args[3], failed}
  end
  if mode ~= 'each' and not (is_done and holds(reply)) then
    give_back()
    return {'refused', #replies, reply}
  end
  replies[#replies + 1] = reply
end
for i, entry in ipairs(held) do
  local is_done, why = true, nil
  -- Only the first can fail, for want of memory; then nothing has been written yet.
  if i == 1 then is_done, why = pcall(ask, 'XADD', unpack(entry)) else ask('XADD', unpack(entry)) end
  if not is_done then
    give_back()
    return {'refused', 1, {'failed', '', type(why) == 'table' and why.err or why}}
  end
end
if next(written) then
  local all = {}
  for name, value in pairs(written) do
    all[#all + 1] = name
    all[#all + 1] = value
  end
  ask('HSET', commits, unpack(all))
end
return replies
