// A real OpenID provider for tests: PKCE, consent, rotating refresh tokens. Prints its address, then serves until it is ended.
import http from "node:http";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const folder = process.argv[2];
const options = JSON.parse(process.argv[3] ?? "{}");
const require = createRequire(pathToFileURL(`${folder}/package.json`));
const { Provider } = await import(pathToFileURL(require.resolve("oidc-provider")).href);

const asked = { authorization_code: 0, refresh_token: 0, revocation: 0 };
const seen = [];
const records = new Map();

class Adapter {
  constructor(name) { this.name = name; }
  key(id) { return `${this.name}:${id}`; }
  async upsert(id, payload) { records.set(this.key(id), payload); }
  async find(id) { return records.get(this.key(id)); }
  async findByUserCode() { return undefined; }
  async findByUid(uid) { return [...records.values()].find((payload) => payload.uid === uid); }
  async consume(id) { const found = records.get(this.key(id)); if (found) found.consumed = Math.floor(Date.now() / 1000); }
  async destroy(id) { records.delete(this.key(id)); }
  async revokeByGrantId(grantId) {
    for (const [key, payload] of records) if (payload.grantId === grantId) records.delete(key);
  }
}

const back = ["http://127.0.0.1/callback"];
const client = (client_id, more) => ({
  client_id, application_type: "native", redirect_uris: back, response_types: ["code"],
  grant_types: ["authorization_code", "refresh_token"], ...more,
});

const server = http.createServer();
server.listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    adapter: Adapter,
    clients: [
      client("public", { token_endpoint_auth_method: "none" }),
      client("basic", { token_endpoint_auth_method: "client_secret_basic", client_secret: "s3cret/with+odd%signs" }),
      client("post", { token_endpoint_auth_method: "client_secret_post", client_secret: "another-secret-of-a-client" }),
    ],
    scopes: ["openid", "offline_access", "read", "write"],
    pkce: { required: () => true },
    rotateRefreshToken: true,
    issueRefreshToken: async () => true,
    ttl: { AccessToken: options.ttl ?? 3600, RefreshToken: 86400, Grant: 86400, Session: 86400, Interaction: 3600, IdToken: 3600,
      AuthorizationCode: 60 },
    cookies: { keys: ["for tests only"] },
    features: { devInteractions: { enabled: true }, revocation: { enabled: true }, introspection: { enabled: true } },
  });
  provider.use(async (ctx, next) => {
    if (ctx.path === "/_asked") { ctx.body = { asked, seen }; return; }
    if (ctx.path === "/_forget") {
      for (const key of records.keys()) if (/^(RefreshToken|AccessToken|Grant):/.test(key)) records.delete(key);
      ctx.body = {};
      return;
    }
    await next();
    const form = ctx.oidc?.body ?? {};
    if (ctx.path === "/token") {
      if (form.grant_type in asked) asked[form.grant_type] += 1;
      seen.push({ grant: form.grant_type, status: ctx.status, basic: Boolean(ctx.headers.authorization), posted: "client_secret" in form });
    }
    if (ctx.path === "/token/revocation") asked.revocation += 1;
  });
  server.on("request", provider.callback());
  console.log(issuer);
});
