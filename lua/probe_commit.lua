#!lua
--[[
probe_commit: whether this user may run what a decision runs; nothing is written.

KEYS[1]       workspaces      hash; on it every command below is an error or reads

RETURNS       {status, command}
  ready       every one may be run, as far as can be seen; command is ""
  refused     the store's access rules keep this one from the user
WRITES        nothing
TIME          O(1)
HOLDS         I2 no decision without its entry
]]
local workspaces = KEYS[1]
assert(#KEYS == 1 and #ARGV == 0, 'ARITY')
-- Of another type or empty, a command below could write.
if redis.call('HLEN', workspaces) == 0 then return {'ready', ''} end
redis.call('TIME')
redis.call('HMGET', workspaces, '')
redis.call('HGET', workspaces, '')
local tried = {
  XLEN = redis.pcall('XLEN', workspaces),
  XADD = redis.pcall('XADD', workspaces, '*', 'a', 'hash'),
  HSET = redis.pcall('HSET', workspaces, 'no', 'pair', 'this'),
  LPUSH = redis.pcall('LPUSH', workspaces, ''),
  LINDEX = redis.pcall('LINDEX', workspaces, 0),
  RPOP = redis.pcall('RPOP', workspaces),
  PEXPIRE = redis.pcall('PEXPIRE', workspaces, 'never'),
}
for command, reply in pairs(tried) do
  local reason = type(reply) == 'table' and reply.err or ''
  -- Redis 7.0 says that the user "can't run this command", later ones NOPERM or "no permissions", Valkey the same.
  if string.find(reason, "can't run", 1, true) or string.find(string.lower(reason), 'perm', 1, true) then
    return {'refused', command}
  end
end
return {'ready', ''}
