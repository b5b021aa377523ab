--[[
keyed_batches: no call of a batch is decided under the Idempotency-Key of another batch.

KEYS[p+1]     keyed_batch     string; MAC of the batch that came with this Idempotency-Key, once a call of it is decided

ARGV[p+1]     batch_digests   MACs of this batch, newest first, separated by spaces

RETURNS
  conflict    another batch came with this Idempotency-Key; nothing written
WRITES        keyed_batch, for 24 hours after the last of its calls was decided
]]
--@ names
local keyed_batch, batch_digests, held_digest
if arg_before.keyed_batches then
  keyed_batch, batch_digests = KEYS[key_before.keyed_batches + 1], ARGV[arg_before.keyed_batches + 1]
end
--@ refuse
if keyed_batch and state.status == 'committed' then
  held_digest = call('GET', keyed_batch)
  if held_digest and not string.find(batch_digests, held_digest, 1, true) then state.status = 'conflict' end
end
--@ write
if keyed_batch then
  if held_digest then
    call('PEXPIRE', keyed_batch, '86400000')
  else
    call('SET', keyed_batch, string.match(batch_digests, '^%S+'), 'PX', '86400000')
  end
end
