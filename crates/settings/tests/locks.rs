//! What the files of a project cannot loosen once an organisation, `--settings` or the person closed it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use mayi_core::call::Workspace;
use mayi_core::policy::Layer;
use mayi_settings::{Given, Loaded, Trust, of_values};
use serde_json::{Value, json};

fn load(layers: &[(Layer, Value)]) -> Loaded {
    let layers: Vec<(Layer, &Value)> = layers.iter().map(|(layer, value)| (*layer, value)).collect();
    let given = Given { trust: Trust::Trusted, ..Given::default() };
    of_values(&layers, &Workspace::at("/w").with_home("/home/u"), &given)
}

/// The merged value of a dotted path below `sandbox`; null when it is not set.
fn value(loaded: &Loaded, path: &str) -> Value {
    loaded.effective.setting(&format!("sandbox.{path}")).map_or(Value::Null, |setting| setting.value.clone())
}

fn at(path: &str, value: &Value) -> Value {
    path.rsplit('.').fold(value.clone(), |inner, name| json!({ name: inner }))
}

fn sandbox(path: &str, value: &Value) -> Value {
    json!({ "sandbox": at(path, value) })
}

/// Everything that loosens, with a value that does.
fn loosening() -> Vec<(&'static str, Value)> {
    vec![
        ("enabled", json!(false)),
        ("failIfUnavailable", json!(false)),
        ("derive", json!(false)),
        ("excludedCommands", json!(["npm *"])),
        ("ignoreViolations", json!({"npm": ["x"]})),
        ("enableWeakerNestedSandbox", json!(true)),
        ("enableWeakerNetworkIsolation", json!(true)),
        ("filesystem.allowWrite", json!(["/opt"])),
        ("filesystem.allowRead", json!(["/opt"])),
        ("network.allowedDomains", json!(["a.example"])),
        ("network.allowUnixSockets", json!(["/run/x"])),
        ("network.allowAllUnixSockets", json!(true)),
        ("network.allowLocalBinding", json!(true)),
        ("network.allowMachLookup", json!(["com.example.*"])),
        ("network.httpProxyPort", json!(8080)),
        ("network.socksProxyPort", json!(1080)),
    ]
}

#[test]
fn a_required_sandbox_leaves_no_loosening_to_local_files() {
    let closing = [
        (Layer::Managed, sandbox("allowUnsandboxedCommands", &json!(false))),
        (Layer::Flag, sandbox("allowUnsandboxedCommands", &json!(false))),
        (Layer::Managed, sandbox("network.allowManagedDomainsOnly", &json!(true))),
    ];
    for (path, loose) in loosening() {
        let local = (Layer::Local, sandbox(path, &loose));
        assert_eq!(value(&load(std::slice::from_ref(&local)), path), loose, "{path} counts where nothing closes it");
        for closed in &closing {
            let loaded = load(&[closed.clone(), local.clone()]);
            assert_eq!(value(&loaded, path), Value::Null, "{path} under {closed:?}");
            assert_eq!(loaded.problems().len(), 1, "{path}");
        }
        let open = (Layer::Managed, sandbox("allowUnsandboxedCommands", &json!(true)));
        let flag = (Layer::Flag, sandbox("allowUnsandboxedCommands", &json!(false)));
        assert_eq!(value(&load(&[open, flag, local]), path), loose, "{path}: the organisation leaves it open");
    }
}

#[test]
fn a_required_sandbox_leaves_the_users_own_settings_and_every_deny() {
    let managed = (Layer::Managed, sandbox("allowUnsandboxedCommands", &json!(false)));
    let user = (Layer::User, json!({"sandbox": {"filesystem": {"allowWrite": ["/opt"]}, "enabled": true}}));
    let local = json!({"sandbox": {"enabled": false, "autoAllowBashIfSandboxed": false,
        "filesystem": {"denyWrite": ["x"], "denyRead": ["y"]}, "network": {"deniedDomains": ["a.example"]}}});
    let loaded = load(&[managed, user, (Layer::Local, local)]);
    let sandbox = &loaded.settings.sandbox;
    assert!(sandbox.enabled, "the user's true outlives the project's false");
    assert_eq!(sandbox.auto_allow_bash_if_sandboxed, Some(false));
    assert_eq!(sandbox.filesystem.allow_write, ["/opt"]);
    assert_eq!(sandbox.filesystem.deny_write, ["/w/x"]);
    assert_eq!(sandbox.filesystem.deny_read, ["/w/y"]);
    assert_eq!(sandbox.network.denied_domains, ["a.example"]);
    assert!(!loaded.effective.locks.counts_writes(Layer::Project) && loaded.effective.locks.counts_writes(Layer::User));
}

#[test]
fn sn_03_a_users_closed_way_out_is_not_opened_in_the_project() {
    let user = (Layer::User, sandbox("allowUnsandboxedCommands", &json!(false)));
    for layer in [Layer::Project, Layer::Local] {
        let loaded = load(&[user.clone(), (layer, sandbox("allowUnsandboxedCommands", &json!(true)))]);
        assert!(!loaded.policy.options.sandbox.allow_unsandboxed, "{layer}");
    }
    let loaded = load(&[user, (Layer::Flag, sandbox("allowUnsandboxedCommands", &json!(true)))]);
    assert!(loaded.policy.options.sandbox.allow_unsandboxed, "whoever starts the session may");
}

#[test]
fn narrower_locks_take_away_what_would_get_round_them() {
    let denied = sandbox("network.deniedDomains", &json!(["a.example"]));
    let strict = sandbox("network.strictAllowlist", &json!(true));
    let domains_only = sandbox("network.allowManagedDomainsOnly", &json!(true));
    let reads_only = sandbox("filesystem.allowManagedReadPathsOnly", &json!(true));
    let hides = sandbox("filesystem.denyRead", &json!(["/x"]));
    let secret = sandbox("credentials.files", &json!([{"path": "/x"}]));
    let masks = sandbox("credentials.files", &json!([{"path": "/x", "mode": "mask"}]));
    let (port, hosts) = (("network.httpProxyPort", json!(8080)), ("network.allowedDomains", json!(["b.example"])));
    let socks = ("network.socksProxyPort", json!(1080));
    let (read, open) = (("filesystem.allowRead", json!(["/x"])), ("filesystem.disabled", json!(true)));
    use Layer::{Flag, Local, Managed, User};
    // Who closes what, who sets which key, and whether that counts.
    let rows = [
        (Managed, &denied, Local, &port, false),
        (Flag, &denied, Local, &socks, false),
        (User, &denied, Local, &port, true),
        (Managed, &denied, User, &port, true),
        (Managed, &denied, Local, &hosts, true),
        (Flag, &strict, Local, &port, false),
        (Managed, &strict, Local, &hosts, false),
        (Managed, &strict, User, &hosts, true),
        (User, &strict, Local, &hosts, true),
        (Managed, &domains_only, User, &hosts, false),
        (Managed, &domains_only, User, &port, false),
        (Managed, &domains_only, Flag, &hosts, false),
        (Managed, &reads_only, User, &read, false),
        (Managed, &reads_only, Flag, &read, false),
        (Managed, &hides, User, &open, false),
        (Managed, &hides, Flag, &open, false),
        (Managed, &secret, User, &open, false),
        (Managed, &masks, User, &open, true),
        (Flag, &hides, User, &open, true),
    ];
    for (closer, closing, layer, (path, loose), counts) in rows {
        let loaded = load(&[(closer, closing.clone()), (layer, sandbox(path, loose))]);
        let expected = if counts { loose.clone() } else { Value::Null };
        assert_eq!(value(&loaded, path), expected, "{closer} {closing}, {layer} {path}");
    }
}

#[test]
fn a_repository_cannot_switch_derived_confinement_off() {
    let loaded =
        load(&[(Layer::User, sandbox("derive", &json!(true))), (Layer::Project, sandbox("derive", &json!(false)))]);
    assert!(loaded.settings.sandbox.derive);
}

#[test]
fn every_item_of_a_list_knows_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.json");
    let text = "{\"sandbox\": {\n \"filesystem\": {\"denyRead\": [\n  \"a\",\n  5,\n  \"~/b\"]},\n \"credentials\": {\"files\": [\n  {\"path\": \"c\",\n \"maskClaims\": [\"x\"]},\n  {\"path\": \"/d\"}]}}}";
    std::fs::write(&file, text).unwrap();
    let given = Given { flags: vec![mayi_settings::Flag::File(file)], ..Given::default() };
    let loaded = of_values(&[], &Workspace::at("/w").with_home("/home/u"), &given);
    let items = |path: &str| -> Vec<(String, u32)> {
        let text = |value: &Value| value.get("path").unwrap_or(value).as_str().unwrap().to_owned();
        loaded.effective.items(path).iter().map(|item| (text(&item.value), item.origin.line)).collect()
    };
    let root = folder.path().to_str().unwrap();
    assert_eq!(items("sandbox.filesystem.denyRead"), [(format!("{root}/a"), 3), ("/home/u/b".to_owned(), 5)]);
    assert_eq!(items("sandbox.credentials.files"), [(format!("{root}/c"), 7), ("/d".to_owned(), 9)]);
}
