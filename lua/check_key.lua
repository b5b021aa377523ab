#!lua flags=allow-oom
--[[
check_key: say whether the caller's key is valid now, and note that it was used.

KEYS[1]       caller_key      hash; record of the caller's API key; missing = revoked

ARGV[1]       now_us          store time, us since the epoch; "" = server's clock (production)
ARGV[2]       is_use          "1" = the caller uses the key now; "" = an open stream asks whether it is still valid

RETURNS       {status, scopes, agents, session_from, time_us, expires_ms, name, root, via, person, issuer, groups}
  valid       the key's scopes and the agents it is bound to, both comma-separated; agents "" = not bound;
              session_from "" = the request's context names the session; expires_ms "" = never; the key's name and root;
              how a session is used, and who signed in with the identity provider; "" = no session, nobody. Of a person:
              the provider's issuer, and their groups, one a line
  revoked     there is no such record; all but time_us is ""
  expired     the key has expired; all but time_us is ""
WRITES        last use of a valid key, and when a session ends if it is not used again, at most once a second
TIME          O(1)
HOLDS         I7 a revoked key gets no decision
]]
assert(#KEYS == 1 and #ARGV == 2, 'ARITY')
local caller_key, is_use = KEYS[1], ARGV[2] == '1'
local time_us = tonumber(ARGV[1])
if not time_us then
  local clock = redis.call('TIME')
  time_us = clock[1] * 1000000 + clock[2]
end
local time_ms = math.floor(time_us / 1000)
local time_text = string.format('%.0f', time_us)

local key = redis.call('HMGET', caller_key, 'scopes', 'expires_ms', 'last_used_ms', 'agents', 'session_from', 'name',
  'root', 'ends_ms', 'idle_ms', 'via', 'person', 'issuer', 'groups')
if not key[1] then return {'revoked', '', '', '', time_text, '', '', '', '', '', '', ''} end
if key[2] and not (time_ms < tonumber(key[2])) then
  return {'expired', '', '', '', time_text, '', '', '', '', '', '', ''}
end

local since_ms = time_ms - (tonumber(key[3]) or 0)
if is_use and not (since_ms >= 0 and since_ms < 1000) then
  redis.call('HSET', caller_key, 'last_used_ms', string.format('%.0f', time_ms))
  if key[8] then
    key[2] = string.format('%.0f', math.min(tonumber(key[8]), time_ms + tonumber(key[9])))
    redis.call('HSET', caller_key, 'expires_ms', key[2])
  end
end
return {'valid', key[1], key[4] or '', key[5] or '', time_text, key[2] or '', key[6] or '', key[7] or '',
  key[10] or '', key[11] or '', key[12] or '', key[13] or ''}
