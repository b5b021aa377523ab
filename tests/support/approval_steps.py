"""Shared by tests of approvals: rules that ask people, the call, and the approval."""

SECRET = "0123456789abcdef0123456789abcdef"
ASK = {"type": "approval_required", "tools": ["refund.create"]}
ALLOW = {"type": "tool_allowlist", "tools": ["refund.*"]}


def ask(tenant, agent_id, amount=5, **fields):
    """The answer to one refund."""
    return tenant.authorize(agent_id, "refund.create", parameters={"amount": amount}, **fields)


def answering(tenant):
    """A client with a key that may approve, and did not ask."""
    return tenant.replica.client(tenant.new_key(["approve", "read"], name="ann")["key"])


def approve(person, approval_id, **body):
    """Approve as `person`, a client; return the approval."""
    answer = person.post(f"/v1/approvals/{approval_id}/approve", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()
