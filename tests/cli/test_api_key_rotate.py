"""`remit key rotate`."""

import json
import re

import httpx
import pytest
from servers import clean_env

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def remit(replica, run_remit):
    """Runs the command line on the store of the shared replica."""

    def run(*arguments):
        environment = clean_env() | {"REMIT_REDIS_URL": replica.env["REMIT_REDIS_URL"]}
        return run_remit(["key", *arguments], environment)

    return run


@pytest.fixture
def key(replica):
    """A new key, as the answer to its creation shows it."""
    with replica.client() as client:
        return client.post("/v1/api-keys", json={"name": "pep", "scopes": ["read"]}).json()


def status(replica, raw_key):
    """The status and, if there is one, the code that a request with the key gets."""
    answer = httpx.get(f"{replica.base_url}/v1/agents", headers={"Authorization": f"Bearer {raw_key}"})
    return answer.status_code, (answer.json() or {}).get("error", {}).get("code") if answer.is_error else None


def test_a_script_gets_the_new_key_and_when_the_old_one_ends(remit, replica, key):
    """The API's fields, and two more: which key it replaces, and until when that works."""
    made = remit("rotate", key["id"], "--overlap", "2h", "--json")
    assert (made.returncode, made.stderr) == (0, "")
    new = json.loads(made.stdout)

    assert (new["name"], new["scopes"], new["replaces"]) == ("pep", ["read"], key["id"])
    assert status(replica, key["key"]) == status(replica, new["key"]) == (200, None)
    with replica.client() as client:
        listed = {each["id"]: each["expiresAt"] for each in client.get("/v1/api-keys").json()}
        changes = client.get("/v1/changes", params={"resource_id": key["id"]}).json()
    assert listed[key["id"]] == new["replacedUntil"]
    assert listed[new["id"]] is None
    assert (changes[0]["actorId"], changes[0]["kind"]) == ("console", "updated")
    assert changes[0]["after"] == {"expiresAt": new["replacedUntil"]}


def test_without_an_overlap_the_old_key_is_dead_when_the_command_returns(remit, replica, key):
    """For a key that leaked. --raw prints the new key alone."""
    assert status(replica, key["key"]) == (200, None)
    made = remit("rotate", key["id"], "--overlap", "0", "--raw")

    assert re.fullmatch(r"svc_[0-9a-f]{32}\n", made.stdout)
    assert status(replica, key["key"]) == (401, "API_KEY_EXPIRED")
    assert status(replica, made.stdout.strip()) == (200, None)


def test_a_person_is_told_until_when_the_old_key_works(remit, key):
    """A day, unless told otherwise."""
    made = remit("rotate", key["id"])
    assert re.fullmatch(
        rf"id  \S+\nkey svc_[0-9a-f]{{32}} \(shown only once\)\nold {key['id']} is valid until \S+Z\n", made.stdout
    )


def test_a_person_is_told_when_the_new_key_ends(remit, key):
    """If it does."""
    made = remit("rotate", key["id"], "--expires-at", "2100-01-02T03:04:05Z")
    assert re.search(r"^new \S+ is valid until 2100-01-02T03:04:05.000Z\nold ", made.stdout, re.MULTILINE)


@pytest.mark.parametrize("overlap", ["", "1", "-1h", "1w", "1.5h", "3651d", "999999999d", "9999999999s", "٣h"])
def test_an_invalid_overlap_is_a_misuse(remit, key, overlap):
    """A number without a unit could be anything."""
    made = remit("rotate", key["id"], "--overlap", overlap)
    assert made.returncode == 2
    assert "--overlap" in made.stderr
    assert made.stdout == ""


def test_an_unknown_key_is_a_sentence(remit):
    """And nothing is made."""
    made = remit("rotate", "00000000-0000-7000-8000-000000000000")
    assert (made.returncode, made.stdout) == (1, "")
    assert made.stderr.startswith('Error: No API key has the id, beginning or name "00000000-')
