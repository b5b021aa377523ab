"""MACs under rotating secrets."""

import hmac

import pytest

from app.redaction.signer import Purpose, Signer

OLD, NEW = b"o" * 32, b"n" * 32
TEXT = b"what was written"


def test_only_signed_messages_are_recognised():
    """Only the same bytes under the same secret."""
    signer = Signer([NEW])
    mac = signer.mac(Purpose.LONG_TEXT, TEXT)
    assert signer.macs(Purpose.LONG_TEXT, TEXT) == [mac]
    assert mac not in signer.macs(Purpose.LONG_TEXT, TEXT + b".")
    assert mac not in Signer([OLD]).macs(Purpose.LONG_TEXT, TEXT)


def test_a_secret_is_replaced_while_the_old_one_is_still_accepted():
    """The first secret signs; all are accepted."""
    before, during, after = Signer([OLD]), Signer([NEW, OLD]), Signer([NEW])
    old_mac, new_mac = before.mac(Purpose.LONG_TEXT, TEXT), during.mac(Purpose.LONG_TEXT, TEXT)
    assert new_mac == after.mac(Purpose.LONG_TEXT, TEXT) != old_mac
    assert during.macs(Purpose.LONG_TEXT, TEXT) == [new_mac, old_mac]
    assert old_mac not in after.macs(Purpose.LONG_TEXT, TEXT)


def test_without_a_secret_nothing_is_signed():
    """No MAC is better than one that anyone could make."""
    assert Signer([]).mac(Purpose.LONG_TEXT, TEXT) is None
    assert Signer([]).macs(Purpose.LONG_TEXT, TEXT) == []


def test_the_secret_itself_signs_nothing():
    """Each purpose has a derived key, so a MAC for one is not valid for another."""
    plain = hmac.digest(NEW, TEXT, "sha256").hex()
    assert Signer([NEW]).mac(Purpose.LONG_TEXT, TEXT) != plain


@pytest.mark.parametrize("purpose", list(Purpose))
def test_a_mac_never_changes_between_releases(purpose):
    """Later releases must be able to check stored MACs."""
    known = {
        Purpose.SIGN_IN: "2642f0cc70a98357d841ce8304849c53de6382e3ea23af304defbf16e1daa6e4",
        Purpose.LONG_TEXT: "9bf55627050ae625ea36c0781acbc6990fb04569b76da79a94406c8abbe695ac",
        Purpose.REQUEST: "aa4685de87945f369373a104e002c1c7046af6db4a5ae603e6519ef7d620716d",
        Purpose.CALL: "5e082996ac8886aab80f3290867d54041f65cb916549ceb3873f94436b920645",
        Purpose.QUESTION: "43ab99d08fe4fe344ab9056e1d82ea185971403ca24131d8b5cbec2f8cf20b7e",
        Purpose.REMEMBERED: "bcbcbefdeb7b6754ac970a0c7e2befb5534390ccb35544722110056b738876fd",
        Purpose.SLACK: "9dcce3a26e358d67713bf6c88d66d415db2fb37be4b751e641c1d8396749f9f3",
        Purpose.WEBHOOK: "24051f7c026500acff6382b61a1d763e6562934705ef7dc395f1aacbee1a82a8",
    }
    assert Signer([NEW]).mac(purpose, TEXT) == known[purpose]
