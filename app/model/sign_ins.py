"""Sign-ins: sessions of people, each an API key that ends soon."""

import re
import secrets
import uuid
from typing import Any

from msgspec import Struct

from app.model.actors import Via
from app.model.api_keys import SESSION_TYPE, Scope
from app.model.times import rfc3339

LONGEST_MS = 8 * 3_600_000
"""A session ends this long after its sign-in, however much it is used."""

IDLE_MS = 30 * 60_000
"""A session ends once it has not been used for this long, unless the settings say otherwise."""

CHOICE_SECONDS = 600
"""How long somebody with access to several workspaces may take to choose one."""

ID_TOKEN_USED_S = 900
"""How long an ID token that was used, and a sign-out, are remembered: longer than an ID token can sign somebody in."""

CODE_SECONDS = 60
"""How long the one-time code of `remit console` is valid."""


class SignIn(Struct, frozen=True, kw_only=True):
    """A session: the record of an API key that ends, and who signed in.

    id: also the id of the key. key_id: the API key that it was made from; "" = none.
    expires_ms: when it ends if it is not used again. ends_ms: when it ends in any case.
    person, groups: who signed in with the identity provider, and with which groups. issuer: which provider that was.
    sid: the provider's own session.
    authenticated_s: when the provider last saw the person's credentials, s since the epoch.
    id_token: what the provider said about them, with which they sign out there too; "" = not kept. It opens nothing.
    address: their mail address in lower case, if the provider has verified it; "" = it has not.
    """

    id: str
    name: str
    scopes: tuple[Scope, ...]
    created_ms: int
    expires_ms: int
    ends_ms: int
    via: Via
    key_id: str = ""
    last_used_ms: int | None = None
    person: str = ""
    groups: tuple[str, ...] = ()
    issuer: str = ""
    sid: str = ""
    authenticated_s: int | None = None
    id_token: str = ""
    address: str = ""

    def root(self, workspace_id: str) -> str:
        """Whose it is (`ApiKey.root`), "" = its key's holder.

        Links of `remit console` with a name are one person's, in their workspace: limits for each key go by the root.
        """
        if self.key_id:
            return ""
        return self.person or str(uuid.uuid5(uuid.NAMESPACE_OID, f"link {workspace_id} {self.name}"))

    @property
    def snapshot(self) -> dict[str, Any]:
        """What the trail of changes shows of it."""
        made_from: dict[str, Any] = {"keyId": self.key_id} if self.key_id else {}
        made_from |= {"person": self.person, "groups": self.groups} if self.person else {}
        return {"name": self.name, "scopes": self.scopes, "via": self.via, "endsAt": rfc3339(self.ends_ms)} | made_from


class Identity(Struct, frozen=True, kw_only=True):
    """Who signs in, and what they may do.

    key_id: the API key that vouches for them; "" = none. person and what follows: as in `SignIn`. issued_s: when the
    provider said so, s since the epoch; a later sign-out there refuses the sign-in.
    """

    name: str
    scopes: tuple[Scope, ...]
    key_id: str = ""
    person: str = ""
    groups: tuple[str, ...] = ()
    issuer: str = ""
    sid: str = ""
    authenticated_s: int | None = None
    id_token: str = ""
    address: str = ""
    issued_s: int = 0


class SignOut(Struct, frozen=True, kw_only=True):
    """Somebody signed out at the identity provider. person, sid: as in `SignIn`; "" = whichever, of one of them.

    at_s: when, s since the epoch. token: names the message that says so. remembered_s: for how long it could be sent.
    """

    person: str = ""
    sid: str = ""
    at_s: int
    token: str
    remembered_s: int


class WaitingSignIn(Struct, frozen=True):
    """A sign-in that waits until the person has chosen a workspace.

    claims, id_token: what the provider said. to: where the browser goes afterwards.
    """

    claims: dict[str, Any]
    id_token: str
    to: str


is_address = re.compile(r"[!-?A-~]{1,64}@[0-9A-Za-z.-]{1,255}", re.ASCII).fullmatch
"""A mail address that is plain ASCII: any other could be taken for one that looks the same."""


def new_session_token() -> str:
    """A token never given out before: `ses_` and 256 random bits in hexadecimal."""
    return SESSION_TYPE + secrets.token_hex(32)


def new_code() -> str:
    """A one-time code never given out before: 128 random bits in hexadecimal."""
    return secrets.token_hex(16)


class Standing(Struct, frozen=True, kw_only=True):
    """What the store says about a caller.

    session: None if the caller uses an API key. expires_ms: of the key; None = never. Totals that the caller may not
    read are None.
    """

    workspace_name: str
    expires_ms: int | None
    session: SignIn | None
    pending_approvals: int | None = None
    agents: int | None = None
    policies: int | None = None
