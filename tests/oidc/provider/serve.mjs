// A real identity provider for the tests: npm `oidc-provider`, in memory. PORT, CALLBACK and LOGOUT say where.
import { Provider } from "oidc-provider";

const { PORT, CALLBACK, LOGOUT } = process.env;
const issuer = `http://127.0.0.1:${PORT}`;
const groups = { ann: ["remit-approvers", "staff"], bob: ["remit-admins"], eve: ["strangers"], pat: ["ops"] };

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: "remit",
      client_secret: "a secret: with + and %",
      redirect_uris: [CALLBACK],
      backchannel_logout_uri: LOGOUT,
      backchannel_logout_session_required: true,
    },
    {
      client_id: "remit-cli",
      token_endpoint_auth_method: "none",
      grant_types: ["urn:ietf:params:oauth:grant-type:device_code"],
      redirect_uris: [],
      response_types: [],
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
    deviceFlow: { enabled: true },
    devInteractions: { enabled: true },
  },
  pkce: { required: () => true },
  // Node 20's own fetch does not know the option `dispatcher`.
  fetch: (url, { dispatcher, ...options }) => globalThis.fetch(url, options),
  cookies: { keys: ["a key of the tests"] },
});
provider.listen(Number(PORT), "127.0.0.1", () => console.log("ready"));
