#!lua
--[[
probe_commit: find out whether the store's user may run the commands of a decision; nothing is written.

KEYS[1]       workspaces      hash; every command below only reads it or fails on it

RETURNS       {status, command}
  ready       no command was refused; command is ""
  refused     the store's access rules forbid the user this command
WRITES        nothing
TIME          O(1)
HOLDS         I2 no decision without its entry
]]
local workspaces = KEYS[1]
assert(#KEYS == 1 and #ARGV == 0, 'ARITY')
-- On a key of another type, or on none, a command below could write.
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
  PEXPIREAT = redis.pcall('PEXPIREAT', workspaces, 'never'),
}
for command, reply in pairs(tried) do
  local reason = type(reply) == 'table' and reply.err or ''
  -- Redis 7.0 says that the user "can't run this command"; later versions and Valkey say NOPERM or "no permissions".
  if string.find(reason, "can't run", 1, true) or string.find(string.lower(reason), 'perm', 1, true) then
    return {'refused', command}
  end
end
return {'ready', ''}
