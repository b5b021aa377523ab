"""All configuration: read once from REMIT_* and passed down."""

import difflib
import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Literal
from urllib.parse import parse_qsl, urlsplit

import msgspec
from msgspec import Meta, Struct

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

PREFIX = "REMIT_"
SECRETS = frozenset(
    {"bootstrap_key", "oidc_client_secret", "redis_url", "secret", "slack_bot_token", "slack_signing_secret"}
)
"""Settings whose values are never shown: a URL may contain a password."""
MIN_SECRET_BYTES = 32
OF_CLIENTS = frozenset({"REMIT_URL", "REMIT_API_KEY"})
"""Variables that clients read, `remit authorize` among them; a service started in the same environment ignores them."""
LAST_PORT = 65535
_SCHEMES = ("redis", "rediss", "unix", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster")


class SettingsError(ValueError):
    """A REMIT_* variable is unknown or has an unusable value; the message names it."""


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A deployment's settings: first the ten that most set, then the others by what they are about.

    `docs/operations.md` lists them; a test compares the two. Limits that nobody has to raise are constants
    (`app/store/limits.py`).
    """

    host: Annotated[str, Meta(min_length=1)] = "127.0.0.1"
    """Address to listen on. The default accepts connections from this machine only."""

    port: Annotated[int, Meta(ge=1, le=LAST_PORT)] = 8080
    """Port to listen on."""

    redis_url: str | None = None
    """The Redis or Valkey that stores everything. If unset, Remit starts its own store in `REMIT_DATA_DIR`."""

    secret: str | None = None
    """Keys the MACs in the store. One or more secrets of at least 32 bytes, comma-separated, newest first."""

    bootstrap_key: Annotated[str, Meta(pattern="^svc_[0-9a-f]{32}$", description="svc_ and 32 hex digits")] | None = (
        None
    )
    """Every start ensures that the workspace `default` exists with this admin key (svc_ and 32 hex digits)."""

    public_url: Annotated[str, Meta(pattern="^https?://[!-~]+$", description="an http or https URL")] | None = None
    """URL at which the world reaches the service. Slack messages link to it, and AuthZEN's metadata names it."""

    workers: Annotated[int, Meta(ge=1, le=64)] = 1
    """Replicas that share the port; each has two processes, its lanes."""

    trusted_proxies: str = ""
    """Addresses and networks of the load balancers whose X-Forwarded-For Remit trusts, comma-separated."""

    audit_retention_days: Annotated[int, Meta(ge=0, le=36_500)] = 0
    """Sealed entries older than this are dropped, oldest first; 0 keeps everything."""

    log_format: Literal["text", "json"] = "text"
    """Log lines for people (`text`), or one JSON object per line (`json`)."""

    socket: (
        Annotated[str, Meta(pattern="^/[ -~]{1,99}$", description="an absolute path of up to 100 characters")] | None
    ) = None
    """Path of a Unix socket on which the service listens, too, for callers on the same host."""

    socket_mode: Annotated[str, Meta(pattern="^0?[0-7]{3}$", description="an octal file mode, such as 660")] = "660"
    """File mode of that socket, octal: who may connect."""

    socket_group: Annotated[str, Meta(pattern="^[!-~]+$", description="the name of a group")] | None = None
    """Group of that socket's file; the service's own if unset."""

    compact: bool = True
    """Whether `remit serve` also runs a compactor. Set it to false if `remit compact` runs elsewhere."""

    data_dir: Annotated[str, Meta(min_length=1)] | None = None
    """Where the embedded store keeps its files. If unset, `$XDG_DATA_HOME/remit`, usually `~/.local/share/remit`."""

    store_timeout_ms: Annotated[int, Meta(ge=10, le=10_000)] = 250
    """After this long without a reply, the store counts as unavailable, and the caller gets 503. If `remit doctor`
    finds replies of 200 ms, 250 is nearly an outage."""

    wait_replicas: Annotated[int, Meta(ge=0, le=16)] = 0
    """Replicas of the store that must confirm an admin's change before Remit acknowledges it; with fewer, 503."""

    agent_cache_bytes: Annotated[int, Meta(ge=0)] = 64 * 1024 * 1024
    """Memory for the compiled policies that each lane of a replica caches, in bytes, estimated within a quarter. The
    least recently used go first."""

    agents_max: Annotated[int, Meta(ge=1)] = 10_000
    """Maximum number of agents in a workspace; one more is 409."""

    policies_per_agent_max: Annotated[int, Meta(ge=1)] = 500
    """Maximum number of policies of one agent; one more is 409."""

    policies_max: Annotated[int, Meta(ge=1)] = 100_000
    """Maximum number of policies in a workspace; one more is 409."""

    review: Literal["", "policies"] = ""
    """`policies`: a change of policies that may bind waits until a second person approves it. Empty: nothing waits."""

    policy_versions_max: Annotated[int, Meta(ge=1, le=1_000)] = 100
    """Versions kept of each policy, including the current one. You can read, restore and explain by any of them."""

    keys_max: Annotated[int, Meta(ge=1)] = 1_000
    """Maximum number of API keys in a workspace, including expired ones; one more is 409."""

    approvals_per_agent_max: Annotated[int, Meta(ge=1)] = 500
    """Maximum number of open approvals of one agent. Beyond it, calls that would escalate are denied."""

    approvals_max: Annotated[int, Meta(ge=1)] = 10_000
    """Maximum number of open approvals in a workspace; of one key, half. Beyond it, calls that would ask are denied."""

    webhook_http: bool = False
    """Whether webhooks and the keys of issuers may use `http://`, which anyone on the network path can read."""

    webhook_networks: str = ""
    """Non-public networks that webhooks may reach, and keys of issuers may be in, comma-separated."""

    slack_signing_secret: Annotated[str, Meta(pattern="^[!-~]{16,}$", description="printable ASCII")] | None = None
    """Signing secret of a Slack app in which people decide. Needs `REMIT_SLACK_BOT_TOKEN` and `REMIT_OIDC_ISSUER`."""

    slack_bot_token: Annotated[str, Meta(pattern="^[!-~]+$", description="printable ASCII")] | None = None
    """The token of that app's bot, with which Remit asks Slack whose mail address it is that decides."""

    slack_api: Annotated[str, Meta(pattern="^https?://[!-~]+$", description="an http or https URL")] = (
        "https://slack.com/api"
    )
    """Where Slack's methods are; `https://slack-gov.com/api` for GovSlack."""

    ext_authz_headers: Annotated[
        str, Meta(pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z, -]*$", description="names of headers, comma-separated")
    ] = ""
    """Headers of a gateway's requests that policies can read as `headers`, comma-separated."""

    console: bool = True
    """Whether `/console` serves the web console. If not, it is 404."""

    oidc_issuer: Annotated[str, Meta(pattern="^https?://[!-~]+$", description="an http or https URL")] | None = None
    """The OpenID Connect provider with which people sign in, exactly as its tokens name it. Needs the extra `oidc`."""

    oidc_client_id: Annotated[str, Meta(pattern="^[!-~ ]+$", description="printable ASCII")] | None = None
    """Remit's client at the provider; its redirect URI is `REMIT_PUBLIC_URL` with `/console/callback`."""

    oidc_client_secret: Annotated[str, Meta(pattern="^[!-~ ]+$", description="printable ASCII")] | None = None
    """The secret of that client."""

    oidc_cli_client_id: Annotated[str, Meta(pattern="^[!-~ ]+$", description="printable ASCII")] | None = None
    """A public client at the provider for `remit login`, with the device flow. If unset, only browsers sign in."""

    oidc_groups_claim: Annotated[str, Meta(pattern="^[!-~]+$", description="the name of a claim")] = "groups"
    """The claim with a person's groups; dots lead into objects, as in `realm_access.roles`."""

    oidc_scopes: (
        Annotated[str, Meta(pattern=r"^\s*\S+=[a-z,]+(\s+\S+=[a-z,]+)*\s*$", description="GROUP=SCOPE,SCOPE …")] | None
    ) = None
    """What groups may do, separated by spaces: `GROUP=SCOPE,SCOPE` in the workspace `default`, `WORKSPACE/GROUP=…` in
    others."""

    oidc_name: Annotated[str, Meta(min_length=1, max_length=40)] = "single sign-on"
    """What people call the provider; the button that signs in says so."""

    oidc_only: bool = False
    """Whether people sign in to the console with the provider, never with an API key. Programs use keys as before."""

    oidc_end_session: bool = True
    """Whether signing out of the console also signs out at the provider, if that has an `end_session_endpoint`."""

    sign_in_idle_seconds: Annotated[int, Meta(ge=60, le=28_800)] = 1_800
    """A session of the console or the command line ends once it has not been used for so many seconds."""

    call_bytes_max: Annotated[int, Meta(ge=64 * 1024, le=1040 * 1024)] = 1040 * 1024
    """Maximum size of a call's body, in bytes: a parameter of 1 MiB and what surrounds it. More is 413."""

    requests_per_second: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    """Requests per second that each replica answers for one API key; beyond that, 429. 0 = no limit."""

    replays_per_workspace: Annotated[int, Meta(ge=1, le=64)] = 2
    """Replays that a workspace may run at once on each replica, each in its own process, and a key half of them, but
    at least one; one more is 429.
    """

    streams_per_key: Annotated[int, Meta(ge=1, le=10_000)] = 100
    """Streams and exports that one API key may have open at once on each replica; one more is 429."""

    auth_failures_per_minute: Annotated[int, Meta(ge=0)] = 60
    """Failed authentications per minute that each replica accepts from one address; beyond that, 429. 0 = no limit."""

    connections_per_address: Annotated[int, Meta(ge=0)] = 1_000
    """Open connections of one address on each process, except of `REMIT_TRUSTED_PROXIES`; 0 = any number."""

    audit_backlog_max: Annotated[int, Meta(ge=1_000)] = 2_000_000
    """Unsealed entries of a workspace at which calls are 503; from half of them on, those of who wrote most of it."""

    audit_segment_entries: Annotated[int, Meta(ge=16, le=1_000)] = 512
    """Entries that the compactor seals into one full segment."""

    audit_seal_after_seconds: Annotated[int, Meta(ge=1, le=86_400)] = 10
    """Entries older than this are sealed even if they do not fill a segment."""

    audit_drop_unarchived: bool = False
    """Whether retention may drop entries that `remit audit archive` has not written yet."""

    audit_verify_every_seconds: Annotated[int, Meta(ge=0, le=31_536_000)] = 86_400
    """How often the compactor verifies each log in the background; 0 = never."""

    checkpoint_key_file: Annotated[str, Meta(pattern="^/[ -~]+$", description="an absolute path")] | None = None
    """File with the keys that sign checkpoints (`remit audit key new`). Only the compactor reads it; if unset, nothing
    is signed. Needs the extra `checkpoints`."""

    checkpoint_witnesses: Annotated[str, Meta(pattern="^[ -~]*$", description="URL KEY, URL KEY …")] = ""
    """Witnesses that cosign checkpoints, comma-separated: each a URL, a space, and its verifier key."""

    redact: str = (
        "password,passwords,passwd,passphrase,secret,secrets,token,api_key,api_keys,access_key,private_key,"
        "authorization,credential,credentials,cookie,otp,pin,cvv,ssn,"
        "pwd,pgpassword,idtoken,accesstoken,authtoken,clientsecret,cookies,jwt,auth,"
        "passcode,bearer,cvc,card_number,mnemonic,seed_phrase,signing_key,encryption_key,ssh_key,db_pass,"
        "user_pass,userpass,smtp_pass,mail_pass,ftp_pass,admin_pass,root_pass,database_pass,key_pass,rootpw,pw,psw,"
        "creds,contraseña,account_key,service_key,client_key,master_key,session_key,totp,mfa_code,verification_code,"
        "security_code,security_answer,access_code,recovery_code,recovery_codes,backup_code,backup_codes,code_verifier,"
        "amz_signature,goog_signature,phpsessid,jsessionid,requirepass,"
        "passwort,kennwort,mot_de_passe,senha,cred,subscription_key,license_key,secure_string,string_data,"
        "access_tokens,refresh_tokens,auth_tokens,id_tokens,api_tokens,bearer_tokens,session_tokens,"
        "dsn,connection_string,conn_string,conn_str,connstr,"
        "secret_key,privkey,shared_key,storage_key,hmac_key,gpg_key,pgp_key,new_password,old_password,confirm_password,"
        "mfa,2fa,tfa_code,two_factor_code,hotp,one_time_code,one_time_pass,sms_code,login_code,unlock_code,"
        "unlock_key,puk,reset_code,pairing_code,activation_code,device_code,door_code,gate_code,alarm_code,passkey,"
        "wifi_pass,vpn_pass,login_pass,mysql_pass,sql_pass,postgres_pass,pg_pass,redis_pass,mongo_pass,ldap_pass,"
        "bind_pass,ssh_pass,sudo_pass,email_pass,imap_pass,http_pass,api_pass,app_pass,zip_pass,store_pass,cert_pass,"
        "new_pass,old_pass,unlock_pass,pem,pfx,pkcs12,ppk,kms_key,data_key,root_key,rsa_key,dsa_key,ecdsa_key,"
        "ed25519_key,aes_key,tls_key,ssl_key,server_key,deploy_key,decryption_key,cipher_key,crypto_key,webhook_key,"
        "app_key,application_key,admin_key,consumer_key,write_key,integration_key,wrapping_key,preshared_key,psk,"
        "wpa_key,wifi_key,vault_key,unseal_key,recovery_key,wallet_key,sessid,asp_net_session_id,laravel_session,"
        "ci_session,connect_sid,"
        "contrasena,пароль,密码,パスワード"
    )
    """Comma-separated words. A parameter whose name contains one, or its plural, is stored as `"[REDACTED]"`."""

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Lowest level of the log lines that are written."""

    log_decisions: Literal["terminal", "always", "never"] = "terminal"
    """Whether each decision is also a log line, at level info. By default, only if the log is a terminal."""

    tracing: bool = False
    """Whether every request creates an OpenTelemetry span. Needs the extra `otel`; OTEL_* say where spans go."""

    @property
    def drops_unarchived(self) -> bool:
        """True if retention drops segments that are in no archive."""
        return self.audit_retention_days > 0 and self.audit_drop_unarchived

    @property
    def secrets(self) -> list[bytes]:
        """The values in `secret`; the first one signs. Raises ValueError."""
        secrets = [secret.strip().encode() for secret in (self.secret or "").split(",")]
        if self.secret is not None and min(map(len, secrets)) < MIN_SECRET_BYTES:
            raise ValueError(f"a secret has fewer than {MIN_SECRET_BYTES} bytes")
        return secrets if self.secret is not None else []

    @property
    def proxies(self) -> list[Network]:
        """The networks in `trusted_proxies`. Raises ValueError."""
        return [
            ipaddress.ip_network(each.strip())
            for each in self.trusted_proxies.split(",")
            if self.trusted_proxies.strip()
        ]

    @property
    def webhook_private_networks(self) -> list[Network]:
        """The networks in `webhook_networks`. Raises ValueError."""
        return [ipaddress.ip_network(each) for each in _listed(self.webhook_networks)]

    @property
    def ext_authz_header_names(self) -> frozenset[str]:
        """The names in `ext_authz_headers`, in lower case."""
        return frozenset(map(str.lower, _listed(self.ext_authz_headers)))

    @property
    def store(self) -> str | None:
        """The store's URL without user and password, so that it may be shown; None if the store is embedded."""
        if self.redis_url is None:
            return None
        scheme, _, rest = self.redis_url.partition("://")
        return f"{scheme}://{rest.partition('?')[0].rpartition('@')[2]}"

    def __repr__(self) -> str:
        """The settings without their secrets, so that no traceback shows one."""
        shown = (
            f"{name}={'…' if name in SECRETS and value else repr(value)}"
            for name, value in msgspec.structs.asdict(self).items()
        )
        return f"Settings({', '.join(shown)})"

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> "Settings":
        """The settings that `env` gives. Raises SettingsError naming the variable at fault."""
        variables = {name: value for name, value in env.items() if name.startswith(PREFIX) and name not in OF_CLIENTS}
        fields = names()
        for name in sorted(variables.keys() - fields.keys()):
            near = difflib.get_close_matches(name.upper(), fields, n=1, cutoff=0.8)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(fields)}"
            raise SettingsError(f"{name} is not a setting; {hint}")
        try:
            settings = msgspec.convert({fields[name]: value for name, value in variables.items()}, cls, strict=False)
        except msgspec.ValidationError as error:
            raise _wrong_value(error, variables) from None
        if settings.redis_url is not None:
            _require_store_url(settings.redis_url)
        for name, read, required in _LISTS:
            try:
                read(settings)
            except ValueError:
                shown = "" if name in SECRETS else f", and not {getattr(settings, name)!r}"
                raise SettingsError(f"{PREFIX}{name.upper()} must be {required}{shown}") from None
        _require_provider(settings)
        return settings


_LISTS: tuple[tuple[str, Callable[[Settings], object], str], ...] = (
    (
        "secret",
        lambda settings: settings.secrets,
        f"secrets of at least {MIN_SECRET_BYTES} bytes, comma-separated; `openssl rand -hex 32` makes one",
    ),
    (
        "trusted_proxies",
        lambda settings: settings.proxies,
        "comma-separated addresses or networks, such as 10.0.0.7,192.168.0.0/16",
    ),
    (
        "webhook_networks",
        lambda settings: settings.webhook_private_networks,
        "comma-separated addresses or networks, such as 10.1.0.0/16",
    ),
)
"""Settings that are lists, what reads them, which raises ValueError, and what they must be."""


def _listed(text: str) -> list[str]:
    """The parts between commas that are not blank."""
    return [each for each in map(str.strip, text.split(",")) if each]


def _require_provider(settings: Settings) -> None:
    """Raise SettingsError if a setting of the identity provider needs another one, which is not set."""
    needs = {
        "oidc_issuer": ("oidc_client_id", "oidc_scopes", "public_url"),
        "oidc_only": ("oidc_issuer",),
        "slack_signing_secret": ("slack_bot_token", "oidc_issuer"),
    }
    for given, needed in needs.items():
        for name in needed if getattr(settings, given) else ():
            if not getattr(settings, name):
                raise SettingsError(f"{PREFIX}{given.upper()} needs {PREFIX}{name.upper()}, which is not set")
    # An embedded store has a secret of its own.
    if settings.slack_signing_secret and settings.redis_url and not settings.secret:
        raise SettingsError(f"{PREFIX}SLACK_SIGNING_SECRET needs {PREFIX}SECRET, to sign what buttons say")
    if settings.oidc_issuer and settings.redis_url and not (settings.secret or settings.oidc_client_secret):
        raise SettingsError(f"{PREFIX}OIDC_ISSUER needs {PREFIX}SECRET or {PREFIX}OIDC_CLIENT_SECRET, to sign cookies")


def names() -> dict[str, str]:
    """The fields of the settings by the environment variable that gives them, in the order of the struct."""
    return {PREFIX + field.name.upper(): field.name for field in msgspec.structs.fields(Settings)}


def _wrong_value(error: msgspec.ValidationError, variables: Mapping[str, str]) -> SettingsError:
    """A sentence with the variable's name and what it must be, and its value unless that is a secret."""
    match = re.search(r" - at `\$\.(\w+)`$", str(error))
    if match is None:
        return SettingsError(str(error))
    field, name = match[1], PREFIX + match[1].upper()
    shown = "" if field in SECRETS else f", and not {variables[name]!r}"
    return SettingsError(f"{name} must be {_requirement(field)}{shown}")


def _requirement(field: str) -> str:
    """The requirement on a setting in words, derived from its type, such as `true or false`."""
    info = msgspec.inspect.type_info(Settings)
    kind = next(setting.type for setting in info.fields if setting.name == field)  # type: ignore[attr-defined]
    if isinstance(kind, msgspec.inspect.UnionType):
        kind = kind.types[0]
    match kind:
        case msgspec.inspect.Metadata(extra_json_schema={"description": text}):
            return str(text)
        case msgspec.inspect.IntType(le=None):
            return f"a whole number of at least {kind.ge}"
        case msgspec.inspect.IntType():
            return f"a whole number from {kind.ge} to {kind.le}"
        case msgspec.inspect.BoolType():
            return "true or false"
        case msgspec.inspect.LiteralType():
            return f"one of {', '.join(map(str, kind.values))}"
        case msgspec.inspect.StrType(max_length=int(most)):
            return f"a text of 1 to {most} characters"
        case _:
            return "a text that is not empty"


def _require_store_url(url: str) -> None:
    """Raise SettingsError unless the URL names a store in a way that `app.store` knows; never shows it."""
    name = f"{PREFIX}REDIS_URL"
    scheme, _, rest = url.partition("://")
    if scheme not in _SCHEMES:
        raise SettingsError(f"{name} must begin with {', '.join(f'{each}://' for each in _SCHEMES)}")
    if scheme == "unix":
        if not urlsplit(url).path:
            raise SettingsError(f"{name} must name a socket: unix:///path/to/socket")
        _require_number(name, scheme, "", url)
        return
    for node in re.split("[/?#]", rest)[0].rpartition("@")[2].split(","):
        match = re.fullmatch(r"([^\s:\[\]]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?", node)
        if match is None or not 0 < int(match[2] or 6379) <= LAST_PORT:
            raise SettingsError(f"{name} must name host and port of the store: {scheme}://host:6379")
    _require_number(name, scheme, urlsplit(url).path, url)


def _require_number(name: str, scheme: str, path: str, url: str) -> None:
    """Raise SettingsError unless the path and the query name one database by its number, or none, which means 0.

    redis-py takes what is no number for 0, so a URL with a name would silently share that database.
    """
    number = r"(?:/(0|[1-9][0-9]{0,8})?)?"
    service = "/[^/]+" if scheme.endswith("sentinel") and path.strip("/") else ""
    match = re.fullmatch(service + (r"(?:/0?)?" if scheme.endswith("cluster") else number), path)
    in_query = [value for key, value in parse_qsl(urlsplit(url).query, keep_blank_values=True) if key == "db"]
    if match is None or not all(re.fullmatch(number, f"/{value}") and value for value in in_query):
        end = {"sentinel": "/service/0", "cluster": ""}.get(scheme.rpartition("+")[2], "/0")
        raise SettingsError(f"{name} must end with the number of the database, or without one: {scheme}://…{end}")
    if in_query and (len({*in_query}) > 1 or (match.groups() and (match[1] or in_query[0]) != in_query[0])):
        raise SettingsError(f"{name} must name one database, and not another in its query")
    if in_query and scheme.endswith("cluster"):
        raise SettingsError(f"{name} must name no database: a cluster has only one")
