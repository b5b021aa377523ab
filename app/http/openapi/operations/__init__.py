"""Every operation of the API, one entry each: the OpenAPI document and /docs are made from this table.

Each file has the operations of one resource. A test compares the table with the application's routes, in both
directions.
"""

from app.http.openapi.operations.agents import AGENTS
from app.http.openapi.operations.api_keys import API_KEYS
from app.http.openapi.operations.approvals import APPROVALS
from app.http.openapi.operations.audit_log import AUDIT_LOG
from app.http.openapi.operations.catalog import CATALOG
from app.http.openapi.operations.changes import CHANGES
from app.http.openapi.operations.decisions import DECISIONS
from app.http.openapi.operations.policies import POLICIES
from app.http.openapi.operations.policy_sets import POLICY_SETS
from app.http.openapi.operations.service import SERVICE
from app.http.openapi.operations.webhooks import WEBHOOKS

OPERATIONS = (
    *DECISIONS,
    *AGENTS,
    *POLICIES,
    *POLICY_SETS,
    *CATALOG,
    *AUDIT_LOG,
    *APPROVALS,
    *CHANGES,
    *API_KEYS,
    *WEBHOOKS,
    *SERVICE,
)
