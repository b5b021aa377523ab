"""The metadata of the decision point: section 6 of AuthZEN's certification scenario."""

PUBLIC = "https://pdp.example.com"

WELL_KNOWN = "/.well-known/authzen-configuration"


def test_it_names_itself_and_its_endpoints(authzen_replica):
    """Without a key."""
    with authzen_replica.client(key="nonsense") as client:
        answer = client.get(WELL_KNOWN)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/json")
    assert answer.headers["Cache-Control"] == "max-age=3600"
    found = answer.json()
    assert found.pop("policy_decision_point") == PUBLIC
    assert found["access_evaluation_endpoint"] == f"{PUBLIC}/access/v1/evaluation"
    assert all(url.startswith("https://") for name, url in found.items() if name.endswith("_endpoint"))


def test_each_endpoint_that_it_names_is_served(pdp):
    """At the path of its URL."""
    for name, url in pdp.get(WELL_KNOWN).json().items():
        if name.endswith("_endpoint"):
            assert pdp.post(url.removeprefix(PUBLIC), json={}).status_code == 400


def test_a_workspace_has_an_identifier_of_its_own(pdp, tenant):
    """Into which the well-known path was inserted."""
    found = pdp.get(f"{WELL_KNOWN}/{tenant.id}").json()
    assert found["policy_decision_point"] == f"{PUBLIC}/{tenant.id}"
    assert found["access_evaluation_endpoint"] == f"{PUBLIC}/access/v1/evaluation"
    assert pdp.get(f"{WELL_KNOWN}/nonsense").status_code == 404


def test_there_is_none_without_a_public_url(replica):
    """All its URLs are absolute."""
    with replica.client() as client:
        answer = client.get(WELL_KNOWN)
    assert (answer.status_code, "REMIT_PUBLIC_URL" in answer.text) == (404, True)
