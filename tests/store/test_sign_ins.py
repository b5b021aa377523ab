"""Sign-ins of people, and their sign-outs at the identity provider."""

import itertools
from contextlib import suppress

import pytest
from msgspec.structs import replace

from app.authorize.authenticator import Authenticator
from app.errors import Unauthorized
from app.model.actors import Via
from app.model.api_keys import Scope
from app.model.identity_provider import GroupGrants, parse_group_scopes
from app.model.sign_ins import LONGEST_MS, Identity, SignOut
from app.store.keyspace import Keyspace
from app.store.sign_ins import SignIns
from app.store.workspaces import Workspaces
from tests.support import parts

ISSUED_S = 1_000
ANN = Identity(name="ann", scopes=(Scope.ADMIN,), person="ann", sid="s1", issued_s=ISSUED_S)
SIGN_OUT = SignOut(at_s=ISSUED_S, token="t", remembered_s=60)
SIGN_OUTS = {"the person": {"person": "ann"}, "the session": {"sid": "s1"}, "both": {"person": "ann", "sid": "s1"}}
OTHERS = {"another person": {"person": "bob"}, "another session": {"sid": "s2"}, "hers": {"person": "ann", "sid": "s2"}}


class Interposed:
    """A client that does something else before its request number `at`, counted from 0."""

    def __init__(self, client, at, act):
        self._client, self._left, self._act = client, at, act

    @property
    def was_reached(self):
        return self._left < 0

    def __getattr__(self, name):
        async def send(*given, **options):
            self._left -= 1
            if self._left == -1:
                await self._act()
            return await getattr(self._client, name)(*given, **options)

        return send


async def names_of_sessions(client, ids, workspace_id):
    return [each.name async for each in SignIns(client, ids).each(workspace_id)]


async def sign_out(client, ids, workspace_id, **changed):
    """Sign out as a message says that was never sent before; True once that is done."""
    who = replace(SIGN_OUT, token=ids.new(1), **changed)
    return await SignIns(client, ids).sign_out_once([workspace_id], who)


@pytest.mark.parametrize("whom", SIGN_OUTS)
async def test_a_sign_out_during_a_sign_in_leaves_no_session(valkey_client, ids, whom):
    """Whichever request of the one the other falls before: the session is ended, or never made."""
    refused, made = 0, 0
    for outer in ("sign in", "sign out"):
        for at in itertools.count():
            workspace_id = ids.new(at)

            async def leave(client=valkey_client, workspace_id=workspace_id):
                await sign_out(client, ids, workspace_id, **SIGN_OUTS[whom])

            async def sign_in(client=valkey_client, workspace_id=workspace_id):
                nonlocal refused, made
                try:
                    await SignIns(client, ids).create(workspace_id, ANN, Via.CONSOLE)
                    made += 1
                except Unauthorized:
                    refused += 1

            first, second = (sign_in, leave) if outer == "sign in" else (leave, sign_in)
            client = Interposed(valkey_client, at, second)
            await first(client)
            if not client.was_reached:
                break
            assert await names_of_sessions(valkey_client, ids, workspace_id) == []
    assert (refused > 0, made > 0) == (True, True)  # both orders have been tried


async def test_of_two_sign_outs_at_once_the_later_one_counts(valkey_client, ids):
    """Whichever arrives first, and whichever request of the one the other falls before."""
    for times_s in itertools.permutations((ISSUED_S - 50, ISSUED_S)):
        for at in itertools.count():
            workspace_id = ids.new(at)

            async def second(workspace_id=workspace_id, at_s=times_s[1]):
                await sign_out(valkey_client, ids, workspace_id, person="ann", at_s=at_s)

            client = Interposed(valkey_client, at, second)
            await sign_out(client, ids, workspace_id, person="ann", at_s=times_s[0])
            if not client.was_reached:
                break
            with pytest.raises(Unauthorized, match="signed out"):
                await SignIns(valkey_client, ids).create(workspace_id, ANN, Via.CONSOLE)


async def test_a_sign_out_that_was_interrupted_can_be_sent_again(valkey_client, ids):
    """Whichever request the replica made last; the message that was not interrupted works once."""

    async def die():
        raise ConnectionError

    for at in itertools.count():
        workspace_id, who = ids.new(at), replace(SIGN_OUT, person="ann", token=ids.new(at))
        await SignIns(valkey_client, ids).create(workspace_id, ANN, Via.CONSOLE)
        client = Interposed(valkey_client, at, die)
        with suppress(ConnectionError):
            assert await SignIns(client, ids).sign_out_once([workspace_id], who)
        await SignIns(valkey_client, ids).sign_out_once([workspace_id], who)
        assert await names_of_sessions(valkey_client, ids, workspace_id) == []
        assert not await SignIns(valkey_client, ids).sign_out_once([workspace_id], who)
        if not client.was_reached:
            break


@pytest.mark.parametrize("whom", OTHERS)
async def test_a_sign_out_of_another_ends_and_refuses_nothing(valkey_client, ids, workspace_id, whom):
    """Of another person, or of another session of the provider."""
    await sign_out(valkey_client, ids, workspace_id, **OTHERS[whom])
    await SignIns(valkey_client, ids).create(workspace_id, ANN, Via.CONSOLE)
    await sign_out(valkey_client, ids, workspace_id, **OTHERS[whom])
    assert await names_of_sessions(valkey_client, ids, workspace_id) == ["ann"]


async def test_whoever_signs_in_again_is_in(valkey_client, ids, workspace_id):
    """With what the provider said afterwards, in another session there; one that has ended does not begin again."""
    sign_ins, later = SignIns(valkey_client, ids), replace(ANN, sid="", issued_s=ISSUED_S + 1)
    await sign_out(valkey_client, ids, workspace_id, person="ann")
    await sign_out(valkey_client, ids, workspace_id, person="ann", at_s=ISSUED_S - 50)  # which arrives late
    await sign_out(valkey_client, ids, workspace_id, sid="s1")
    await sign_ins.create(workspace_id, later, Via.CONSOLE)
    for given in ({"issued_s": ISSUED_S}, {"sid": "s1"}):
        with pytest.raises(Unauthorized, match="signed out"):
            await sign_ins.create(workspace_id, replace(later, **given), Via.CONSOLE)


async def test_a_session_has_only_the_scopes_that_its_groups_still_give(valkey_client, ids):
    """By the settings of whoever is asked, and only of its provider: without any scope, it is refused.

    Admin is every scope, and read contains view. Sessions that no groups gave have all of theirs. What settings give
    anew is of later sign-ins.
    """
    workspaces, sign_ins = (
        Workspaces(valkey_client, ids, parts.api_keys(valkey_client, ids)),
        SignIns(valkey_client, ids),
    )
    called = f"scopes-{ids.new(1)}"
    workspace_id, _ = await workspaces.create(called)
    table = parse_group_scopes(
        f"{called}/ops=admin {called}/finance=view,audit ops=audit another/gone=view {called}/all=read"
    )
    callers = Authenticator(valkey_client, 10, granted=GroupGrants("https://here", table))
    elsewhere = Authenticator(valkey_client, 10)
    for person, groups, scopes, issuer, left in (
        ("ann", ("ops", "gone"), {Scope.ADMIN}, "https://here", {Scope.ADMIN}),
        ("amy", ("ops",), {Scope.VIEW}, "https://here", {Scope.VIEW}),
        ("bob", ("finance",), {Scope.APPROVE, Scope.VIEW}, "https://here", {Scope.VIEW}),
        ("ben", ("finance",), {Scope.ADMIN}, "https://here", {Scope.AUDIT, Scope.VIEW}),
        ("eve", ("finance",), {Scope.READ}, "https://here", {Scope.VIEW}),
        ("fay", ("all",), {Scope.VIEW}, "https://here", {Scope.VIEW}),
        ("gil", ("all",), {Scope.READ}, "https://here", {Scope.READ}),
        ("hal", ("all", "finance"), {Scope.ADMIN}, "https://here", {Scope.AUDIT, Scope.READ}),
        ("cid", ("gone",), {Scope.VIEW}, "https://here", set()),
        ("dan", ("ops",), {Scope.ADMIN}, "https://there", set()),
        ("", (), {Scope.ADMIN}, "", {Scope.ADMIN}),
    ):
        who = Identity(name=person or "link", scopes=tuple(scopes), person=person, groups=groups, issuer=issuer)
        _, token = await sign_ins.create(workspace_id, who, Via.CONSOLE)
        for asked, expected in ((callers, left), (elsewhere, set() if person else left)):
            for ask in (asked.authenticate, asked.authenticate_once, asked.still_valid):
                if expected:
                    assert (await ask(token)).scopes == expected, (person, ask)
                else:
                    with pytest.raises(Unauthorized, match="has no scope that the settings"):
                        await ask(token)
            assert (asked.cached(token) is not None) == bool(expected), person


@pytest.mark.parametrize("idle_s", [60, 28_800])
async def test_a_session_that_is_not_used_ends_when_the_settings_say(valkey_client, ids, idle_s):
    """Its record says so too, for each use to move that end; it never ends later than eight hours after the sign-in."""
    workspace_id = ids.new(0)
    session, _ = await SignIns(valkey_client, ids, idle_s * 1_000).create(workspace_id, ANN, Via.CONSOLE)
    idle_ms = await valkey_client.call("HGET", Keyspace(workspace_id).key(session.id), "idle_ms")
    assert (session.expires_ms - session.created_ms, int(idle_ms)) == (idle_s * 1_000, idle_s * 1_000)
    assert session.ends_ms - session.created_ms == LONGEST_MS
