//! The keys of the services that mayi talks to: the classifier, the explainer, sign-in and the server.

use super::{Key, Scope, Shape};

const BUDGET: &[Key] = &[
    Key::new("tokens", Shape::Count { least: 1, most: u64::MAX }, "Tokens that one session may use."),
    Key::new("usd", Shape::Amount, "Money that one session may cost."),
];

pub(super) const CLASSIFIER: &[Key] = &[
    Key::new("provider", Shape::Word(&["anthropic", "openai"]), "The protocol; openai is any compatible server."),
    Key::new("baseUrl", Shape::Text, "The address of the API."),
    Key::new("model", Shape::Text, "The model's name."),
    Key::new("timeoutSeconds", Shape::Count { least: 1, most: 600 }, "How long one request may take."),
    Key::new("retries", Shape::Count { least: 0, most: 10 }, "How often a failed request is tried again."),
    Key::new("budget", Shape::Object(BUDGET), "What one session may use."),
    Key::new("strict", Shape::Flag, "Auto mode runs on the static analysis alone."),
    Key::new("failOpen", Shape::Flag, "An unreachable model leads to a prompt instead of a denial.")
        .only(Scope::Managed),
    Key::new("failOpenFlag", Shape::Text, "A file or address that says so, read every 30 minutes.")
        .only(Scope::Managed),
];

pub(super) const EXPLAINER: &[Key] = &[
    Key::new("always", Shape::Flag, "Explains every prompt, not only on request."),
    Key::new("model", Shape::Text, "The model's name, when it is not the classifier's."),
];

pub(super) const IDENTITY: &[Key] = &[
    Key::new("issuer", Shape::Text, "The sign-in service, found by discovery."),
    Key::new("authorizationEndpoint", Shape::Text, "Where people sign in, without discovery."),
    Key::new("tokenEndpoint", Shape::Text, "Where tokens are fetched, without discovery."),
    Key::new("deviceEndpoint", Shape::Text, "Where device codes are fetched, without discovery."),
    Key::new("revocationEndpoint", Shape::Text, "Where tokens are revoked, without discovery."),
    Key::new("clientId", Shape::Text, "This program's name there."),
    Key::new("scopes", Shape::Texts, "What is asked for."),
    Key::new("forModels", Shape::Flag, "The same sign-in also opens the model's API."),
    Key::new(
        "store",
        Shape::Word(&["secret-service", "kernel-keyring", "keychain", "credential-manager", "file"]),
        "Where credentials are kept, when it is not the best store there is.",
    ),
    Key::new("forbidPlainFile", Shape::Flag, "Credentials may not be kept in a plain file.")
        .only(Scope::Managed)
        .sticky(),
];

const OIDC: &[Key] = &[
    Key::new("issuer", Shape::Text, "The sign-in service, found by discovery."),
    Key::new("clientId", Shape::Text, "The server's name there."),
    Key::new("clientSecretEnv", Shape::Text, "The variable that holds the server's secret there, if it has one."),
    Key::new("scopes", Shape::Texts, "What is asked for beside `openid`; `email` and `profile` by default."),
    Key::new(
        "roles",
        Shape::Map(&Shape::Texts),
        "Who gets which role (approver, admin, auditor): `a@example.com`, `*@example.com`, or `claim:value`.",
    ),
];

const NOTIFY: &[Key] = &[
    Key::new("url", Shape::Text, "Where it is sent: `https://…`, or an address of this machine."),
    Key::new("format", Shape::Word(&["json", "slack", "ntfy"]), "How it is written; json where nothing is said."),
];

pub(super) const SERVER: &[Key] = &[
    Key::new("url", Shape::Text, "The server that approvals, audit and policy come from and go to."),
    Key::new("listen", Shape::Text, "Where `mayi serve` listens."),
    Key::new("store", Shape::Text, "Where it keeps its state: `sqlite:PATH` or `postgres://…`."),
    Key::new("behindProxy", Shape::Flag, "A proxy in front of it speaks TLS."),
    Key::new("approvalTimeoutSeconds", Shape::Count { least: 1, most: 86_400 }, "How long an approval waits."),
    Key::new(
        "requestsPerSecond",
        Shape::Count { least: 1, most: 1_000_000 },
        "How many requests a second one token may make, after a burst of twice as many.",
    ),
    Key::new("oidc", Shape::Object(OIDC), "How people sign in to the server's page."),
    Key::new("notify", Shape::List(NOTIFY), "Who is told when an approval waits."),
    Key::new("key", Shape::Text, "The server's public key, in base64; without it, the first one seen is kept."),
    Key::new(
        "approvals",
        Shape::Word(&["unattended", "always", "never"]),
        "When a question goes to the server: where nobody is at the agent's own prompt, always, or never.",
    ),
    Key::new("bundleMaxAgeSeconds", Shape::Count { least: 1, most: 86_400 }, "How old its policy may grow unasked."),
    Key::new(
        "bundleMaxStaleSeconds",
        Shape::Count { least: 1, most: 31_536_000 },
        "How old its policy may grow while the server is away; after that everything asks.",
    ),
    Key::new("requireAudit", Shape::Flag, "Nothing is let through while records wait too long for the server.")
        .only(Scope::Managed)
        .sticky(),
    Key::new("auditMaxLagSeconds", Shape::Count { least: 1, most: 2_592_000 }, "How long that is.")
        .only(Scope::Managed),
];
