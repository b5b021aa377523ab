#!lua
--[[
put_token: admit a workload's token: its record is that of an API key, which ends with the token.

KEYS[1]       issuers         hash; an issuer's name -> its record
KEYS[2]       token           hash; the token's record
KEYS[3]       workload        hash; record of the token's subject, as of an API key that asks
KEYS[4]       tokens          sorted set; admitted tokens, "<issuer's version> <token id> <workload id> <digest>
                              <issuer>"; score = the ms at which each ends
KEYS[5]       changes         stream; the trail of changes
KEYS[6]       own_tokens      sorted set; those members of `tokens` that are the workload's, with the same scores
KEYS[7]       ended_token     hash; record of the token that ends for this one; with an empty `ended` it is not looked at

ARGV[1]       issuer          its name
ARGV[2]       expected        its record when the token was verified
ARGV[3]       member          of `tokens`
ARGV[4]       created_ms      ms since the epoch
ARGV[5]       expires_ms      ms since the epoch
ARGV[6]       tokens_max      tokens that the workspace may have
ARGV[7]       workload_id     of the subject
ARGV[8]       subject         the `sub` of the token
ARGV[9]       after           for the trail, if the subject is new: JSON
ARGV[10]      kept_until_ms   how long the subject's record stays, ms since the epoch
ARGV[11]      share           tokens that the workload may have
ARGV[12]      ended           member of own_tokens that ends for this one; "" = none
ARGV[11+2i]   field           field i of the token's record
ARGV[12+2i]   value           value i; all fields but created_ms are given

RETURNS       {status, first}
  done        the token counts until expires_ms; a record that exists is that of the same token, signed in another way
  crowded     the workload has its share, and `ended` is not `first`, the member of it that ends first; nothing written
  stale       the issuer is gone or has changed; nothing written
  full        the workspace has tokens_max tokens; nothing written
WRITES        token, tokens and own_tokens without those that have ended, ended_token, workload, and changes if the
              subject is new
TIME          O(log N + E), N tokens, E that have ended
HOLDS         I7 a revoked key gets no decision, I10 no raw key at rest or in logs
]]
assert(#KEYS == 7 and #ARGV >= 12 and #ARGV % 2 == 0, 'ARITY')
local issuers, token, workload, tokens, changes = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local own_tokens, ended_token = KEYS[6], KEYS[7]
local issuer, expected, member, created_ms, expires_ms = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local tokens_max, workload_id, subject, after, kept_until_ms = tonumber(ARGV[6]), ARGV[7], ARGV[8], ARGV[9], ARGV[10]
local share, ended = tonumber(ARGV[11]), ARGV[12]

if redis.call('HGET', issuers, issuer) ~= expected then return {'stale', ''} end
if redis.call('HEXISTS', token, 'created_ms') == 1 then return {'done', ''} end
local has_share = redis.call('ZCOUNT', own_tokens, '(' .. created_ms, '+inf') >= share
if has_share then
  local first = redis.call('ZRANGEBYSCORE', own_tokens, '(' .. created_ms, '+inf', 'LIMIT', 0, 1)[1]
  if first ~= ended then return {'crowded', first} end
elseif redis.call('ZCOUNT', tokens, '(' .. created_ms, '+inf') >= tokens_max then
  return {'full', ''}
end
-- Scripts do not roll back: a key of the wrong type must fail before the first write.
local is_new = redis.call('HEXISTS', workload, 'created_ms') == 0
redis.call('XLEN', changes)

if is_new then
  redis.call('XADD', changes, '*', 'actorId', workload_id, 'actorName', subject, 'kind', 'created',
    'resourceType', 'workload', 'resourceId', workload_id, 'before', '', 'after', after)
  redis.call('HSET', workload, 'created_ms', created_ms, 'id', workload_id, 'name', subject, 'root', workload_id,
    'workload', workload_id)
end
redis.call('PEXPIREAT', workload, kept_until_ms)
if has_share then
  redis.call('DEL', ended_token)
  redis.call('ZREM', tokens, ended)
  redis.call('ZREM', own_tokens, ended)
end
redis.call('HSET', token, 'created_ms', created_ms)
for i = 13, #ARGV, 2 do redis.call('HSET', token, ARGV[i], ARGV[i + 1]) end
redis.call('PEXPIREAT', token, expires_ms)
redis.call('ZREMRANGEBYSCORE', tokens, '-inf', created_ms)
redis.call('ZADD', tokens, expires_ms, member)
redis.call('ZREMRANGEBYSCORE', own_tokens, '-inf', created_ms)
redis.call('ZADD', own_tokens, expires_ms, member)
redis.call('PEXPIREAT', own_tokens, kept_until_ms)
return {'done', ''}
