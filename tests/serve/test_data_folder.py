"""The embedded store is found from any folder, and nobody's store is silently replaced by a new one."""

import os
from pathlib import Path

import pytest
from serving import Service

from app.cli.saved_session import saved_path
from app.serve.data_folder import data_folder, store_in_words
from app.settings import Settings, SettingsError

UNSET = Settings()


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch) -> Path:
    """A user's home, and another current folder."""
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "home"


@pytest.mark.parametrize("relative", ["", "data", "./data"])
def test_the_usual_folder_is_that_of_the_user(home, monkeypatch, relative):
    """XDG's specification: relative paths are ignored."""
    monkeypatch.setenv("XDG_DATA_HOME", relative)
    assert data_folder(UNSET) == home / ".local/share/remit"
    monkeypatch.setenv("XDG_DATA_HOME", "/srv/data")
    assert data_folder(UNSET) == Path("/srv/data/remit")
    assert data_folder(Settings(data_dir="here")) == Path("here")
    assert store_in_words(UNSET) == "embedded in /srv/data/remit"
    assert store_in_words(Settings(redis_url="redis://:secret@h:1")) == "redis://h:1"


@pytest.mark.parametrize("relative", ["home", "./home", "."])
def test_a_relative_home_is_refused(monkeypatch, relative):
    """It would be another folder wherever a command runs: a new store, or a session left there."""
    monkeypatch.setenv("HOME", relative)
    monkeypatch.setenv("XDG_CONFIG_HOME", relative)
    for find in (lambda: data_folder(UNSET), saved_path):
        with pytest.raises(SettingsError, match="HOME must be an absolute path, and not"):
            find()
    monkeypatch.setenv("XDG_CONFIG_HOME", "/srv/config")
    assert saved_path() == Path("/srv/config/remit/session")


def test_a_user_without_a_home_is_told_what_to_set(monkeypatch):
    """As in a container with a user id that no user has."""
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000)
    with pytest.raises(SettingsError, match="must be set, because this user has no home directory"):
        data_folder(UNSET)
    assert data_folder(Settings(data_dir="here")) == Path("here")


@pytest.mark.slow
def test_a_service_finds_its_store_from_any_folder(home, tmp_path):
    """The key of the first start is valid after a start in another folder."""
    service = Service(tmp_path)
    del service.env["REMIT_DATA_DIR"]
    service.launch(cwd=tmp_path / "project")
    service.until(lambda: "\nserving " in service.said, "it serves")
    key = service.key
    assert f"embedded in {home}/.local/share/remit/, " in service.said
    assert service.stop() == 0

    service.launch(cwd=tmp_path)
    service.until(lambda: "\nserving " in service.said, "it serves from elsewhere")
    with service.client(key) as client:
        assert client.get("/v1/agents").status_code == 200
    assert service.stop() == 0
