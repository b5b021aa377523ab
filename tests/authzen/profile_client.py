"""A client of the access request and approval profile, written from the text of the profile alone.

It imports nothing from the service: what it knows is a base URL, a key, and what the standard's documents say.
"""

import copy
import uuid


class NotRequestable(Exception):
    """The denial carries no `context.access_request`: access must not be requested."""


class Refused(Exception):
    """An error of the access request service, as problem details."""

    def __init__(self, answer):
        self.status, self.problem = answer.status_code, answer.json()
        self.media = answer.headers["content-type"]
        super().__init__(self.problem)

    @property
    def type(self):
        return self.problem["type"].rpartition(":")[2]


class ProfileClient:
    """A PEP. send(method, url, body, headers) makes a request with the PEP's credentials."""

    def __init__(self, send, identifier):
        self._send = send
        self.metadata = send("GET", f"{identifier}/.well-known/authzen-configuration").json()
        assert "urn:openid:authzen:capability:access-request" in self.metadata["capabilities"]

    def evaluate(self, question, approval=None):
        """The decision and its context. approval: of a result, which is carried unchanged."""
        asked = copy.deepcopy(question)
        if approval is not None:
            asked.setdefault("context", {})["approval"] = approval
        answer = self._send("POST", self.metadata["access_evaluation_endpoint"], asked)
        assert answer.status_code == 200, answer.text
        decided = answer.json()
        return decided["decision"], decided["context"]

    def submission(self, question, context, **more):
        """The body of an access request for this denial."""
        if "access_request" not in context:
            raise NotRequestable(context)
        hint = context["access_request"]
        denial = {"evaluation_id": context["evaluation_id"], "expires_at": hint["expires_at"]}
        denial |= {name: context[name] for name in ("evaluated_at", "reason") if name in context}
        denial |= {name: hint[name] for name in ("template", "binding_token") if name in hint}
        return {**copy.deepcopy(question), "denial": denial, **more}

    def submit(self, body, context, key=None):
        """The status and the answer; the task is in it."""
        endpoint = context["access_request"].get("endpoint", self.metadata["access_request_endpoint"])
        answer = self._send("POST", endpoint, body, {"Idempotency-Key": key or str(uuid.uuid4())})
        if answer.status_code not in {201, 202}:
            raise Refused(answer)
        task = answer.json()["task"]
        assert answer.headers["location"] == task["status_endpoint"]
        return answer.status_code, answer.json()

    def read(self, task):
        """The task as it is now."""
        answer = self._send("GET", task["status_endpoint"])
        if answer.status_code != 200:
            raise Refused(answer)
        read = answer.json()
        assert (read["task"]["status"] == "pending") == ("retry-after" in answer.headers)
        return read

    def cancel(self, task, **why):
        answer = self._send("POST", task["links"]["cancel"], why or None)
        if answer.status_code != 200:
            raise Refused(answer)
        return answer.json()["task"]

    def permits(self, question, read):
        """Whether the operation may be performed, after a task was read: only if a new evaluation says so."""
        result = read.get("result")
        if read["task"]["status"] != "approved" or result is None or result["mode"] != "reevaluate":
            return False, {}
        return self.evaluate(question, result["approval"])

    @staticmethod
    def next_action(context):
        """What to do after a denial of an evaluation that carried an approval."""
        said = context.get("next_action")
        defaults = {"approval_expired": "request", "out_of_scope": "request", "grant_pending": "retry"}
        if said not in {"request", "retry", "none"}:
            said = defaults.get(context.get("reason"), "request")
        return said if said != "request" or "access_request" in context else "none"
