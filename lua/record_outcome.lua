#!lua
--[[
record_outcome: record, once, what became of an allowed call; if it was not executed, give back the quotas it took; if
it was, keep what its runtime reports of the result.

KEYS[1]       caller_key      hash; record of the API key that reports; missing = revoked
KEYS[2]       commits         hash; `sequence` is that of the log's newest entry
KEYS[3]       audit_stream    stream; id = <sequence>-0
KEYS[4]       outcome         string; the earlier report: `<status> <entry_id> <ms> <given back>`
KEYS[5]       taken           string; what the call took from refundable limits; missing = nothing, or already given back
KEYS[5+i]     quota           list; bucket i that it took from, in the format of commit_decision
KEYS[#KEYS]   session_records hash; only if there are records: record -> when it was reported (ms), and its argument after
                              a space, for rules to read (see the part records)

ARGV[1]       now_us          store time, us since the epoch; "" = server's clock (production)
ARGV[2]       entry_id        id of the entry in the log
ARGV[3]       decision_id     of the decision that allowed the call
ARGV[4]       status          executed, failed, not_executed
ARGV[5]       decided_ms      when the call was allowed
ARGV[6]       report_ms       for how long after that its outcome can be reported
ARGV[7]       backlog_max     entries that the stream may have unsealed
ARGV[8]       agent_id        of the entry, as in the decision's; so are the following ones
ARGV[9]       key_id          id of the API key that reports, which is the one that asked
ARGV[10]      tool_name
ARGV[11]      policy_id       "" = none
ARGV[12]      rule            "<index> <type>", "" = none
ARGV[13]      records_kept_ms for how long the session's records are kept from now on; "" = none are reported
ARGV[14]      records_max     how many the session keeps; the oldest go
ARGV[15]      records         `<record> <tool> <field>=<value> …` and a line feed for each
ARGV[14+2i]   taken_us        quota i: when the call took it, quota time
ARGV[15+2i]   amount          quota i: millionths of a budget; "-" = one call of a rate limit; `~` before it = of a shadow
                              policy, which given_back does not count

RETURNS       {status, reported, entry_id, time_ms, given_back}
  done        the report is in the log, and `given_back` limits no longer count the call
  repeated    the same status was reported before; returns the earlier report; nothing written
  other       another status was reported before; returns the earlier report; nothing written
  late        the call was allowed at least report_ms ago; nothing written
  revoked     the key is gone or has expired; nothing written
  backlog     the stream has backlog_max entries; nothing written
WRITES        entry, commits, outcome, session_records; deletes taken; removes the call's time from its rate limits, and its amount from
              all of a budget's totals that include it
TIME          O(N), N live entries of a bucket, at most 10,000, or records of a session, at most 32
HOLDS         I2 no decision without its entry, I3 no window ever holds more than the maximum, I17 a call is given back
              once
]]
local has_records = ARGV[13] ~= ''
local quota_count = #KEYS - 5 - (has_records and 1 or 0)
assert(quota_count >= 0 and #ARGV == 15 + 2 * quota_count, 'ARITY')
local call = redis.call
local caller_key, commits, audit_stream, outcome, taken = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local entry_id, decision_id, status, decided_ms = ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local report_ms, backlog_max, time_us = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[1])
local agent_id, key_id, tool_name, policy_id, rule = ARGV[8], ARGV[9], ARGV[10], ARGV[11], ARGV[12]
local records_kept_ms, records_max, records = ARGV[13], ARGV[14], ARGV[15]
local session_records = has_records and KEYS[#KEYS]
local TOTALS, CHUNK = 4503599627370496, 100

if not time_us then
  local clock = call('TIME')
  time_us = clock[1] * 1000000 + clock[2]
end
local time_ms = math.floor(time_us / 1000)
local time_ms_text = string.format('%.0f', time_ms)
local function refuse(why) return {why, '', '', '', 0} end

local key = call('HMGET', caller_key, 'created_ms', 'expires_ms')
if not key[1] or (key[2] and not (time_ms < tonumber(key[2]))) then return refuse('revoked') end
local reported, reported_in, reported_ms, gave_back = string.match(call('GET', outcome) or '', '^(%S+) (%S+) (%d+) (%d+)$')
if reported then
  return {reported == status and 'repeated' or 'other', reported, reported_in, reported_ms, tonumber(gave_back)}
end
if time_ms - decided_ms >= report_ms then return refuse('late') end
if call('XLEN', audit_stream) >= backlog_max then return refuse('backlog') end

-- Find all that is to be written before writing: calls by their times, in budgets all totals from that time on.
local gives_back = status == 'not_executed' and call('STRLEN', taken) > 0
local calls, totals, given_back = {}, {}, 0
if gives_back then
  for i = 1, quota_count do
    local key_index, taken_us, found = 5 + i, ARGV[14 + 2 * i], false
    local aside, amount = string.match(ARGV[15 + 2 * i], '^(~?)(.*)$')
    amount = tonumber(amount)
    if not amount then
      found = call('LPOS', KEYS[key_index], taken_us)
      if found then calls[#calls + 1] = {key_index, taken_us} end
    else
      local since, changed, first = tonumber(taken_us), {}, 0
      repeat
        local entries = call('LRANGE', KEYS[key_index], first, first + CHUNK - 1)
        for n, entry in ipairs(entries) do
          local time, total = string.match(entry, '^(%d+) (%d+)$')
          if tonumber(time) < since then
            first = nil
            break
          end
          found = found or time == taken_us
          changed[#changed + 1] = {key_index, first + n - 1, time .. ' ' .. string.format('%.0f', (total - amount) % TOTALS)}
        end
        first = first and #entries == CHUNK and first + CHUNK
      until not first
      -- Without the call's own entry, this is not the bucket that it took from.
      if found then
        for _, each in ipairs(changed) do totals[#totals + 1] = each end
      end
    end
    if found and aside == '' then given_back = given_back + 1 end
  end
end

-- Scripts do not roll back: a key of the wrong type must fail before the first write.
if has_records then call('HLEN', session_records) end
local sequence = string.format('%.0f', (call('HGET', commits, 'sequence') or 0) + 1)
local in_words = {executed = 'executed', failed = 'tried and failed', not_executed = 'not executed'}
local reason = 'The call was ' .. in_words[status]
local unit = given_back == 1 and ' limit' or ' limits'
if given_back > 0 then reason = reason .. '; no longer counted by ' .. given_back .. unit end
call('XADD', audit_stream, sequence .. '-0',
  'id', entry_id, 'timeMs', time_ms_text, 'agentId', agent_id, 'keyId', key_id, 'action', 'outcome',
  'toolName', tool_name, 'parameters', '{}', 'result', '', 'policyId', policy_id, 'rule', rule,
  'reason', reason, 'latencyUs', '0', 'type', 'outcome', 'code', status, 'decisionId', decision_id)
call('HSET', commits, 'sequence', sequence)
call('SET', outcome, status .. ' ' .. entry_id .. ' ' .. time_ms_text .. ' ' .. given_back,
  'PX', string.format('%.0f', 2 * report_ms))
call('DEL', taken)
for _, each in ipairs(calls) do call('LREM', KEYS[each[1]], 1, each[2]) end
for _, each in ipairs(totals) do call('LSET', KEYS[each[1]], each[2], each[3]) end
if has_records then
  for record, said in string.gmatch(records, '(%x+) ([^\n]*)\n') do
    call('HSET', session_records, record, time_ms_text .. ' ' .. said)
  end
  local over = call('HLEN', session_records) - tonumber(records_max)
  if over > 0 then
    local all, ages = call('HGETALL', session_records), {}
    for i = 1, #all, 2 do ages[#ages + 1] = {tonumber(string.match(all[i + 1], '^%d+')) or 0, all[i]} end
    table.sort(ages, function(one, other) return one[1] < other[1] end)
    for i = 1, over do call('HDEL', session_records, ages[i][2]) end
  end
  call('PEXPIRE', session_records, records_kept_ms)
end
return {'done', status, entry_id, time_ms_text, given_back}
