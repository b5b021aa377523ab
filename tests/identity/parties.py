"""The parties of a sign-in: the provider, the service, and a person's browser."""

import os
import re
import signal
import subprocess
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import httpx
from servers import Replica, free_port

PROVIDER = Path(__file__).parent / "provider"
SECRET = "a secret: with + and %"


class IdentityProvider:
    """The provider as a process; it forgets everything when it is stopped."""

    def __init__(self, folder, remit_port, device="yes"):
        self.folder, self.port, self.remit_port = folder, free_port(), remit_port
        self.issuer = f"http://localhost:{self.port}"  # another site than the service's, to a browser
        home = f"http://127.0.0.1:{remit_port}/console"
        where = {"HOME": home, "CALLBACK": f"{home}/callback", "LOGOUT": f"{home}/backchannel-logout"}
        self.env = os.environ | where | {"PORT": str(self.port), "DEVICE": device}
        self.process = None
        self.start()

    def start(self):
        command = ["node", "serve.mjs"]
        self.process = subprocess.Popen(
            command, cwd=self.folder, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert self.process.stdout.readline() == b"ready\n"

    def stop(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()


class FixedReplica(Replica):
    """A replica on the port that its settings name: the provider knows it before there is one."""

    def start(self):
        self.base_url = f"http://127.0.0.1:{self.env['REMIT_PORT']}"
        super().start()


def settings_for(idp):
    """What a replica needs whose people sign in with the provider."""
    return {
        "REMIT_PORT": str(idp.remit_port),
        "REMIT_PUBLIC_URL": f"http://127.0.0.1:{idp.remit_port}",
        "REMIT_OIDC_ISSUER": idp.issuer,
        "REMIT_OIDC_CLIENT_ID": "remit",
        "REMIT_OIDC_CLIENT_SECRET": SECRET,
        "REMIT_OIDC_CLI_CLIENT_ID": "remit-cli",
        "REMIT_OIDC_SCOPES": "remit-admins=admin remit-approvers=approve,view payments/payments-ops=policies,view",
        "REMIT_OIDC_NAME": "Example SSO",
    }


class Browser:
    """Follows redirects and fills in the provider's forms; keeps cookies as a browser on this machine does."""

    def __init__(self):
        self.client = httpx.Client(timeout=20)
        self.jar = {}

    def close(self):
        self.client.close()

    def send(self, method, url, **given):
        origin = urlsplit(url).netloc
        cookies = self.jar.setdefault(origin, {})
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())} if cookies else {}
        answer = self.client.request(method, url, headers=headers | given.pop("headers", {}), **given)
        for set_cookie in answer.headers.get_list("set-cookie"):
            name, _, rest = set_cookie.partition("=")
            value = rest.partition(";")[0]
            expired = "max-age=0" in rest.lower() or "01 jan 1970" in rest.lower()
            if expired or not value:
                cookies.pop(name, None)
            else:
                cookies[name] = value
        self.client.cookies.clear()
        return answer

    def follow(self, answer, until=lambda url: False):
        """Redirects and forms up to the page that is neither, or to the address that `until` names."""
        for _ in range(20):
            if answer.is_redirect:
                url = urljoin(str(answer.url), answer.headers["location"])
                if until(url):
                    return url
                answer = self.send("GET", url)
            elif (action := re.search(r'<form[^>]*action="([^"]+)"', answer.text)) is not None:
                fields = dict(re.findall(r'name="(\w+)"[^>]*value="([^"]*)"', answer.text))
                if 'name="login"' in answer.text:
                    fields |= {"login": self.login, "password": "x"}
                answer = self.send("POST", urljoin(str(answer.url), action[1]), data=fields)
            else:
                return answer
        raise AssertionError("the sign-in does not end")

    def sign_in(self, remit, login, to="/console", until=lambda url: False):
        """The last answer of a sign-in."""
        self.login = login
        return self.follow(self.send("GET", f"{remit.base_url}/console/sign-in?to={to}"), until)

    def session(self, remit):
        """What the service says about the session in the cookie."""
        return self.send("GET", f"{remit.base_url}/v1/session")
