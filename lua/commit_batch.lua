#!lua
--[[
commit_batch: turn several plans of one API key into decisions, one after the other, each as commit_decision does.

The lines `--@ commit_decision` and `--@ commit_with_parts` below are replaced by the bodies of these scripts. They run
unchanged, but for their `call`: the clock, the caller's record, agents' versions and `commits` are read once for all
calls, and `commits` is written once at the end.

KEYS[i]       key             of each call, one call after the other, as its script declares them

ARGV[1]       calls           for each call, each followed by a space: its script, `plain` or `parts`, and how many keys
                              and arguments it has
ARGV[1+i]     argument        of each call, likewise

RETURNS       {status, replies}
  done        then the reply of each call, in order; `failed` and why, if its script failed. Nothing was written for that
              call and those after it
WRITES        as these scripts
TIME          O(C), C calls of these scripts; a caller sends as many as take the store about two milliseconds
HOLDS         I2 no decision without its entry, I3 quotas all or nothing, I4 a call that is not allowed costs nothing,
              I7 a revoked key gets no decision, I8 an acknowledged change binds
]]
local calls = ARGV[1]
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
  local names, values, missing = {...}, {}, {}
  for i, name in ipairs(names) do
    values[i] = fields[name]
    if values[i] == nil then missing[#missing + 1] = name end
  end
  if #missing > 0 then
    for i, value in ipairs(ask('HMGET', key, unpack(missing))) do fields[missing[i]] = value end
    for i, name in ipairs(names) do values[i] = fields[name] end
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

local redis = {call = call}
local function plain(KEYS, ARGV)
--@ commit_decision
end
local function parts(KEYS, ARGV)
--@ commit_with_parts
end

local replies, key_at, arg_at, failed = {'done'}, 0, 1, nil
for kind, key_count, arg_count in string.gmatch(calls, '(%l+) (%d+) (%d+) ') do
  local keys, args = {unpack(KEYS, key_at + 1, key_at + key_count)}, {unpack(ARGV, arg_at + 1, arg_at + arg_count)}
  key_at, arg_at = key_at + key_count, arg_at + arg_count
  local is_done, reply = false, failed
  if not failed then is_done, reply = pcall(kind == 'plain' and plain or parts, keys, args) end
  if not is_done then
    failed = type(reply) == 'table' and (reply.err or 'no reply') or reply
    reply = {'failed', args[3], tostring(failed)}
  end
  replies[#replies + 1] = reply
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
