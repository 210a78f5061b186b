//! Settings as types, for whoever acts on them. The table of keys says what may stand there; these types only give
//! each value a name, and a test holds both together.

use std::collections::BTreeMap;

use mayi_core::catalogue::Kind;
use mayi_core::mode::Mode;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// The merged settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[allow(missing_docs, reason = "each field is a key, and the table of keys says what it means")]
pub struct Settings {
    #[serde(rename = "$schema")]
    pub schema: Option<String>,
    pub permissions: Permissions,
    pub allow_managed_permission_rules_only: bool,
    pub allow_managed_hooks_only: bool,
    pub disable_auto_mode: Option<String>,
    pub auto_mode: AutoMode,
    pub use_auto_mode_during_plan: Option<bool>,
    pub sandbox: Sandbox,
    pub disable_all_hooks: bool,
    pub allowed_http_hook_urls: Option<Vec<String>>,
    pub http_hook_allowed_env_vars: Option<Vec<String>>,
    pub classifier: Classifier,
    pub permission_explainer_enabled: Option<bool>,
    pub explainer: Explainer,
    pub api_key_helper: Option<String>,
    pub identity: Identity,
    pub server: Server,
    pub audit: Audit,
    pub tools: BTreeMap<String, DeclaredTool>,
    pub env: BTreeMap<String, String>,
    pub rule_examples: BTreeMap<String, RuleExamples>,
    pub skip_auto_permission_prompt: bool,
    pub skip_dangerous_mode_permission_prompt: bool,
    pub disable_skill_shell_execution: bool,
    pub disable_sideload_flags: bool,
}

/// The examples of one rule in `ruleExamples`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "the table of keys says what each means")]
pub struct RuleExamples {
    #[serde(rename = "match")]
    pub matches: Vec<String>,
    pub reject: Vec<String>,
}

/// `permissions`, without its rules.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[allow(missing_docs, reason = "the table of keys says what each means")]
pub struct Permissions {
    pub additional_directories: Vec<String>,
    pub default_mode: Option<Mode>,
    pub disable_bypass_permissions_mode: Option<String>,
    pub disable_auto_mode: Option<String>,
    pub block_reads_outside_working_directories: bool,
}

/// `autoMode`. A list that is not set leaves what is built in; one that is set replaces it unless it holds
/// `$defaults`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "the table of keys says what each means")]
pub struct AutoMode {
    pub environment: Option<Vec<String>>,
    pub allow: Option<Vec<String>>,
    pub soft_deny: Option<Vec<String>>,
    pub hard_deny: Option<Vec<String>>,
    #[serde(rename = "classifyAllShell")]
    pub classify_all_shell: bool,
    #[serde(rename = "strictGrants")]
    pub strict_grants: bool,
    #[serde(rename = "safeTools")]
    pub safe_tools: Vec<String>,
    pub limits: Limits,
}

/// `autoMode.limits`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[allow(missing_docs, reason = "the table of keys says what each means")]
pub struct Limits {
    pub in_a_row: Option<u32>,
    pub total: Option<u32>,
}

/// `sandbox`. Paths are absolute.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[allow(missing_docs, reason = "the table of keys says what each means")]
pub struct Sandbox {
    pub enabled: bool,
    pub fail_if_unavailable: bool,
    pub auto_allow_bash_if_sandboxed: Option<bool>,
    pub excluded_commands: Vec<String>,
    pub allow_unsandboxed_commands: Option<bool>,
    pub derive: bool,
    pub ignore_violations: BTreeMap<String, Vec<String>>,
    pub enable_weaker_nested_sandbox: bool,
    pub enable_weaker_network_isolation: bool,
    pub allow_apple_events: bool,
    pub ripgrep: Option<Ripgrep>,
    pub bwrap_path: Option<String>,
    pub socat_path: Option<String>,
    pub filesystem: Filesystem,
    pub network: Network,
    pub credentials: Credentials,
}

/// `sandbox.ripgrep`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "the table of keys says what each means")]
pub struct Ripgrep {
    pub command: String,
    pub args: Vec<String>,
}

/// `sandbox.filesystem`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[allow(missing_docs, reason = "the table of keys says what each means")]
pub struct Filesystem {
    pub allow_write: Vec<String>,
    pub deny_write: Vec<String>,
    pub deny_read: Vec<String>,
    pub allow_read: Vec<String>,
    pub allow_managed_read_paths_only: bool,
    pub disabled: bool,
}

/// `sandbox.network`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[allow(missing_docs, reason = "the table of keys says what each means")]
pub struct Network {
    pub allowed_domains: Vec<String>,
    pub denied_domains: Vec<String>,
    pub strict_allowlist: bool,
    pub allow_managed_domains_only: bool,
    pub allow_unix_sockets: Vec<String>,
    pub allow_all_unix_sockets: bool,
    pub allow_local_binding: bool,
    pub allow_mach_lookup: Vec<String>,
    pub http_proxy_port: Option<u16>,
    pub socks_proxy_port: Option<u16>,
    pub tls_terminate: Option<TlsTerminate>,
}

/// `sandbox.network.tlsTerminate`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[allow(missing_docs, reason = "the table of keys says what each means")]
pub struct TlsTerminate {
    pub ca_cert_path: Option<String>,
    pub ca_key_path: Option<String>,
}

/// `sandbox.credentials`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[allow(missing_docs, reason = "the table of keys says what each means")]
pub struct Credentials {
    pub files: Vec<Secret>,
    pub env_vars: Vec<Secret>,
    pub allow_plaintext_inject: bool,
    pub aws_pairs: Option<Json>,
    pub sigv4: Option<Json>,
}

/// A file or variable with a secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[allow(missing_docs, reason = "the table of keys says what each means")]
pub struct Secret {
    pub path: Option<String>,
    pub name: Option<String>,
    pub mode: Concealment,
    pub extract: Option<String>,
    pub on_extract_no_match: Option<String>,
    pub decode: Option<String>,
    pub mask_claims: Vec<String>,
    pub mask_duplicates: bool,
    pub inject_hosts: Vec<String>,
}

/// How a secret is kept from commands. What cannot be read is denied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Concealment {
    /// It cannot be read.
    #[default]
    Deny,
    /// It is replaced.
    Mask,
}

/// `classifier`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[allow(missing_docs, reason = "the table of keys says what each means")]
pub struct Classifier {
    pub provider: Option<String>,
    pub base_url: Option<String>,
    pub model: Option<String>,
    pub timeout_seconds: Option<u64>,
    pub retries: Option<u32>,
    pub budget: Budget,
    pub strict: bool,
    pub fail_open: bool,
    pub fail_open_flag: Option<String>,
}

/// `classifier.budget`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "the table of keys says what each means")]
pub struct Budget {
    pub tokens: Option<u64>,
    pub usd: Option<f64>,
}

/// `explainer`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "the table of keys says what each means")]
pub struct Explainer {
    pub always: bool,
    pub model: Option<String>,
}

/// `identity`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[allow(missing_docs, reason = "the table of keys says what each means")]
pub struct Identity {
    pub issuer: Option<String>,
    pub authorization_endpoint: Option<String>,
    pub token_endpoint: Option<String>,
    pub device_endpoint: Option<String>,
    pub revocation_endpoint: Option<String>,
    pub client_id: Option<String>,
    pub scopes: Vec<String>,
    pub for_models: bool,
    pub store: Option<String>,
    pub forbid_plain_file: bool,
}

/// `server`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[allow(missing_docs, reason = "the table of keys says what each means")]
pub struct Server {
    pub url: Option<String>,
    pub listen: Option<String>,
    pub store: Option<String>,
    pub behind_proxy: bool,
    pub approval_timeout_seconds: Option<u64>,
    pub requests_per_second: Option<u64>,
    pub oidc: Oidc,
    pub notify: Vec<Notify>,
    pub key: Option<String>,
    pub approvals: Approvals,
    pub bundle_max_age_seconds: Option<u64>,
    pub bundle_max_stale_seconds: Option<u64>,
    pub require_audit: bool,
    pub audit_max_lag_seconds: Option<u64>,
}

/// `server.oidc`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[allow(missing_docs, reason = "the table of keys says what each means")]
pub struct Oidc {
    pub issuer: Option<String>,
    pub client_id: Option<String>,
    pub client_secret_env: Option<String>,
    pub scopes: Vec<String>,
    pub roles: BTreeMap<String, Vec<String>>,
}

/// One of `server.notify`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[allow(missing_docs, reason = "the table of keys says what each means")]
pub struct Notify {
    pub url: String,
    pub format: NotifyFormat,
}

/// How a notification is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the table of keys says what each means")]
pub enum NotifyFormat {
    #[default]
    Json,
    Slack,
    Ntfy,
}

/// `server.approvals`: when a question goes to the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Approvals {
    /// Where nobody is at the agent's own prompt.
    #[default]
    Unattended,
    /// Always; the agent's own prompt comes after it.
    Always,
    /// Never.
    Never,
}

/// `audit`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[allow(missing_docs, reason = "the table of keys says what each means")]
pub struct Audit {
    pub enabled: Option<bool>,
    pub file: Option<String>,
    pub retention_days: Option<u32>,
}

/// A tool of `tools`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "the table of keys says what each means")]
pub struct DeclaredTool {
    pub kind: Kind,
    pub field: Option<String>,
}

impl Default for DeclaredTool {
    fn default() -> Self {
        Self { kind: Kind::Plain, field: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{KEYS, Key, Shape};
    use serde_json::{Map, json};

    fn sample(shape: &Shape) -> Option<Json> {
        Some(match shape {
            Shape::Flag => json!(true),
            Shape::Count { least, .. } => json!(least),
            Shape::Amount => json!(1.5),
            Shape::Text | Shape::Path => json!("x"),
            Shape::Word(words) => json!(words[0]),
            Shape::Texts | Shape::Paths | Shape::Directories => json!(["x"]),
            Shape::Rules(_) | Shape::Hooks => return None,
            Shape::Object(keys) => object(keys),
            Shape::Map(inner) => json!({ "x": sample(inner) }),
            Shape::List(keys) => json!([object(keys)]),
            Shape::Anything => json!({}),
        })
    }

    fn object(keys: &[Key]) -> Json {
        let members = keys.iter().filter_map(|key| Some((key.name.to_owned(), sample(&key.shape)?)));
        Json::Object(members.collect::<Map<_, _>>())
    }

    #[test]
    fn every_key_of_the_table_has_a_field_and_every_field_a_key() {
        let whole = object(KEYS);
        let settings: Settings = serde_json::from_value(whole.clone()).unwrap();
        let back = serde_json::to_value(settings).unwrap();
        assert_eq!(names(&back, ""), names(&whole, ""));
    }

    /// Every dotted path but those of secrets, where one type serves two lists.
    fn names(value: &Json, above: &str) -> std::collections::BTreeSet<String> {
        let mut found = std::collections::BTreeSet::new();
        for (name, inner) in value.as_object().into_iter().flatten() {
            let path = format!("{above}/{name}");
            if !path.starts_with("/sandbox/credentials/") {
                found.extend(names(inner, &path));
            }
            found.insert(path);
        }
        found
    }
}
