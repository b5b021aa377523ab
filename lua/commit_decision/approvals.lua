--[[
approvals: the commit creates the approval that an escalated call asks for, attaches the call to it, or uses it.

KEYS[p+1]     approval        hash; the approval to create, attach to or use
KEYS[p+2]     approval_call   string; id of the current approval of calls like this one
KEYS[p+3]     approvals       sorted set; every approval, by id
KEYS[p+4]     open            sorted set; approvals that can still be decided or used; score = ms at which that ends
KEYS[p+5]     agent_open      the same for this agent
KEYS[p+6]     key_open        the same for the API key that asked for `approval`
KEYS[p+7]     rule_open       the same for the first rule that asks about this agent
KEYS[p+8]     events          stream; changes of approvals, for clients that wait for them
KEYS[p+9]     asker           hash; record of the API key that asked for `approval`; missing = revoked

ARGV[p+1]     step            ask = create an approval, attach = join the pending one, use = use the approved one, probe =
                              return `escalates` and write nothing; it has no keys and no other arguments
ARGV[p+2]     approval_id     of `approval`
ARGV[p+3]     current_id         value of approval_call when the replica read it; "" = missing
ARGV[p+4]     current_version    version of `approval` when the replica read it; not used by ask
ARGV[p+5]     expected_full   numbers of the quotas that the step expects to be full, each followed by a space
ARGV[p+6]     lasts_ms        ask: how long the approval can be decided
ARGV[p+7]     asked           ask: JSON of what never changes in an approval (the call, and what people are asked), and of
                              the initial values of its other fields, which hold until the record has such a field
ARGV[p+8]     agent_max       ask: how many approvals an agent may have open
ARGV[p+9]     workspace_max   ask: how many approvals the workspace may have open; a key, half of them
ARGV[p+10]    rule_max        ask: how many approvals a rule may have open about an agent
ARGV[p+11]    other_reasons   ask: follow the reason in the approval, if several rules ask; "" = none

ADDS          full_quotas     escalates: the numbers of the full quotas, each followed by a space
ADDS          approval        the step taken: asked, attached, used or refused
ADDS          filling         ask: of what, with this one, four fifths of the approvals are open that may be: rule, agent, key
                              or workspace
ADDS          ends_ms         when the effect of that step ends; not if it is refused
RETURNS
  escalates   a person must be asked, and the step did not expect that; nothing written
  overtaken   the call's approval has changed since the replica read it; nothing written
  ended       since the approval was asked for, the agent was not active, the API key that asked was revoked, or what
              rules read of records has changed; nothing written
WRITES        approval and the sets that list it
HOLDS         I14 an approval is of one call, used as often as it says
]]
--@ names
local approval, approval_call, approvals, open, agent_open, key_open, rule_open, events, asker
local step, approval_id, current_id, current_version, expected_full, lasts_ms, asked, agent_max, workspace_max
local rule_max, other_reasons
if arg_before.approvals then
  step = ARGV[arg_before.approvals + 1]
  if step ~= 'probe' then
    approval, approval_call, approvals, open, agent_open, key_open, rule_open, events,
      asker = unpack(KEYS, key_before.approvals + 1)
    approval_id, current_id, current_version, expected_full, lasts_ms, asked, agent_max, workspace_max,
      rule_max, other_reasons = unpack(ARGV, arg_before.approvals + 2)
  end
end
local full_quotas, current, ends_ms, filling = '', nil, nil, nil
--@ full
full_quotas = full_quotas .. i .. ' '
--@ judge
if step and state.result == 'escalated' and (step == 'use' or step == 'probe' or full_quotas ~= expected_full) then
  state.status = 'escalates'
elseif step and state.result ~= 'denied' and step ~= 'probe' then
  local overtaken
  if step == 'ask' and current_id == '' then
    overtaken = call('EXISTS', approval_call, approval) > 0
  else
    overtaken = (call('GET', approval_call) or '') ~= current_id or step == 'ask' and call('EXISTS', approval) > 0
  end
  if step ~= 'ask' then
    current = call('HMGET', approval, 'version', 'status', 'expires_ms', 'usable_until_ms', 'asked_sequence', 'decisions',
      'requests', 'uses_left', 'granted_ms')
    overtaken = overtaken or (current[1] or '1') ~= current_version
    -- Suspending the agent or revoking the key ends its approvals, both the approved and the pending.
    local ended_until = tonumber(call('HGET', agent, 'approvals_ended') or -1)
    if not overtaken and (call('HEXISTS', asker, 'created_ms') == 0 or not (tonumber(current[5] or 0) > ended_until)) then
      state.status = 'ended'
    -- What people saw of records is not what rules read now.
    elseif not overtaken and state.read and call('HGET', approval, 'records') ~= state.read then
      state.status = 'ended'
    end
  end
  if state.status == 'committed' then
    -- Scripts do not roll back: a key of the wrong type, or what is no number, must fail before the first write.
    assert(not current or overtaken or tonumber(current[1] or 1) and tonumber(current[7] or 1), 'An approval holds no number')
    -- An id whose time has passed, or that another program left, counts only towards the workspace's maximum.
    local of_agent, of_workspace = call('ZCOUNT', agent_open, '(' .. time_ms_text, '+inf'), call('ZCARD', open)
    local of_key = call('ZCOUNT', key_open, '(' .. time_ms_text, '+inf')
    local of_rule = call('ZCOUNT', rule_open, '(' .. time_ms_text, '+inf')
    call('XLEN', events)
    call('ZCARD', approvals)
    if step == 'use' then
      overtaken = overtaken or current[2] ~= 'approved' or not (time_ms < tonumber(current[4]))
      local uses_left = overtaken and 1 or tonumber(current[8])
      assert(uses_left >= 1 and uses_left < EXACT, 'The uses of an approval are no number')
      state.approval, ends_ms = 'used', current[4]
      state.approved_ms = string.format('%.0f', (tonumber(current[4]) or 0) - (tonumber(current[9]) or 0))
    elseif state.result == 'escalated' then
      if step == 'attach' then
        overtaken = overtaken or current[2] ~= 'pending' or not (time_ms < tonumber(current[3]))
        state.approval, ends_ms = 'attached', current[3]
      elseif of_agent >= tonumber(agent_max) or of_workspace >= tonumber(workspace_max)
        or of_key >= tonumber(workspace_max) / 2 or of_rule >= tonumber(rule_max) then
        state.result, state.approval, state.retry_us = 'denied', 'refused', 0
        state.reason, state.code = 'Too many approvals wait for people already; ' .. state.reason, 'approvals_full'
      else
        state.approval, ends_ms = 'asked', string.format('%d', time_ms + lasts_ms)
        local function is_filling(count, most) return count + 1 == math.ceil(tonumber(most) * 0.8) end
        filling = is_filling(of_rule, rule_max) and 'rule' or is_filling(of_agent, agent_max) and 'agent'
          or is_filling(of_key, workspace_max / 2) and 'key' or is_filling(of_workspace, workspace_max) and 'workspace'
      end
    end
    if overtaken then state.status = 'overtaken' end
    if state.approval and state.approval ~= 'refused' then state.approval_id = approval_id end
  end
end
--@ reply
if state.status == 'escalates' then reply[#reply + 1], reply[#reply + 2] = 'full_quotas', full_quotas end
if state.approval then reply[#reply + 1], reply[#reply + 2] = 'approval', state.approval end
if ends_ms then reply[#reply + 1], reply[#reply + 2] = 'ends_ms', ends_ms end
if filling then reply[#reply + 1], reply[#reply + 2] = 'filling', filling end
--@ entry
if state.approval_id then
  state.extras[#state.extras + 1] = 'approvalId'
  state.extras[#state.extras + 1] = state.approval_id
end
if filling then
  state.extras[#state.extras + 1] = 'filling'
  state.extras[#state.extras + 1] = filling
end
--@ write
if state.approval == 'asked' then
  call('HSET', approval, 'status', 'pending', 'asked', asked, 'asked_sequence', sequence_text, 'expires_ms', ends_ms)
  if state.full ~= 0 then
    call('HSET', approval, 'policy_id', policy_id, 'rule', state.rule, 'reason', state.reason .. other_reasons)
  end
  if state.read then call('HSET', approval, 'records', state.read) end
  call('SET', approval_call, approval_id)
  call('ZADD', approvals, '0', approval_id)
  call('ZADD', open, ends_ms, approval_id)
  call('ZADD', agent_open, ends_ms, approval_id)
  call('ZADD', key_open, ends_ms, approval_id)
  call('ZADD', rule_open, ends_ms, approval_id)
  -- Not trimmed here, but when approvals change: no more are pending than the workspace may have open.
  call('XADD', events, '*', 'id', approval_id, 'status', 'pending')
elseif state.approval_id then
  local changed = {}
  local function set(name, value)
    changed[#changed + 1] = name
    changed[#changed + 1] = value
  end
  local decisions = current[6] or approval_id
  if #decisions < 3700 then set('decisions', decisions .. ' ' .. decision_id) end
  local uses_left
  if state.approval == 'attached' then
    set('requests', (current[7] or 1) + 1)
  else
    uses_left = current[8] - 1
    set('uses_left', uses_left)
    set('version', current[1] + 1)
    if uses_left == 0 then set('status', 'consumed') end
  end
  call('HSET', approval, unpack(changed))
  if uses_left == 0 then
    call('ZREM', open, approval_id)
    call('ZREM', agent_open, approval_id)
    call('ZREM', key_open, approval_id)
    call('ZREM', rule_open, approval_id)
    call('DEL', approval_call)
    call('PEXPIRE', approval, '2592000000')
    call('XADD', events, 'MAXLEN', '~', '10000', '*', 'id', approval_id, 'status', 'consumed')
  end
end
