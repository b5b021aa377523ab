// A real identity provider for the tests: npm `oidc-provider`, in memory. PORT, CALLBACK, LOGOUT and HOME say where; without
// DEVICE it has no device flow.
import { Provider } from "oidc-provider";

const { PORT, CALLBACK, LOGOUT, HOME, DEVICE } = process.env;
const issuer = `http://localhost:${PORT}`;
const groups = { ann: ["remit-approvers", "staff"], bob: ["remit-admins"], eve: ["strangers"], pat: ["remit-approvers", "payments-ops"] };

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: "remit",
      client_secret: "a secret: with + and %",
      redirect_uris: [CALLBACK],
      post_logout_redirect_uris: [HOME],
      backchannel_logout_uri: LOGOUT,
      backchannel_logout_session_required: true,
    },
    {
      client_id: "remit-cli",
      token_endpoint_auth_method: "none",
      application_type: "native",
      grant_types: ["authorization_code", ...(DEVICE ? ["urn:ietf:params:oauth:grant-type:device_code"] : [])],
      redirect_uris: ["http://127.0.0.1/callback"],
    },
    {
      client_id: "another",
      client_secret: "another",
      redirect_uris: [CALLBACK],
    },
  ],
  claims: { openid: ["sub", "sid"], profile: ["name"], groups: ["groups"], email: ["email"] },
  scopes: ["openid", "profile", "email", "groups"],
  conformIdTokenClaims: false,
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, name: `${id} <b>of</b> Example`, email: `${id}@example.com`, groups: groups[id] ?? [] }),
  }),
  features: {
    backchannelLogout: { enabled: true },
    deviceFlow: { enabled: Boolean(DEVICE) },
    devInteractions: { enabled: true },
  },
  pkce: { required: () => true },
  // Node 20's own fetch does not know the option `dispatcher`.
  fetch: (url, { dispatcher, ...options }) => globalThis.fetch(url, options),
  cookies: { keys: ["a key of the tests"] },
});
provider.listen(Number(PORT), "127.0.0.1", () => console.log("ready"));
