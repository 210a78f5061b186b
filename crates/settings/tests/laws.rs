//! What holds for any settings whatever.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use mayi_core::call::Workspace;
use mayi_core::mode::Mode;
use mayi_core::policy::{Layer, Status};
use mayi_core::verdict::Verdict;
use mayi_settings::document::Document;
use mayi_settings::keys::{KEYS, Key, Shape};
use mayi_settings::{Flag, Given, Loaded, Trust, lint, of_values};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const RULES: [&str; 12] = [
    "Bash",
    "Bash(git:*)",
    "Bash(rm -rf *)",
    "Read(.env)",
    "Edit(/src/**)",
    "Read(!x)",
    "WebFetch(domain:*.x.org)",
    "mcp__s",
    "mcp__s__*",
    "Agent(Explore)",
    "Bash(",
    "*",
];

/// A value for a key: mostly of its shape, sometimes not.
fn value(shape: &Shape, luck: &mut impl FnMut() -> usize) -> Value {
    if luck().is_multiple_of(12) {
        return [json!(null), json!(5), json!("x"), json!([]), json!({}), json!(false)][luck() % 6].clone();
    }
    match shape {
        Shape::Flag => json!(luck().is_multiple_of(2)),
        Shape::Count { least, .. } => json!(least + (luck() % 5) as u64),
        Shape::Amount => json!(luck()),
        Shape::Text | Shape::Path => json!(format!("t{}", luck() % 3)),
        Shape::Word(words) => json!(words[luck() % words.len()]),
        Shape::Texts | Shape::Paths | Shape::Directories => json!([format!("/d{}", luck() % 3)]),
        Shape::Rules(_) => json!((0..luck() % 4).map(|_| RULES[luck() % RULES.len()]).collect::<Vec<_>>()),
        Shape::Object(keys) => object(keys, luck),
        Shape::Map(inner) => json!({ "a": value(inner, luck) }),
        Shape::List(keys) => json!([object(keys, luck)]),
        Shape::Hooks => {
            json!({"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": format!("c{}", luck() % 3)}]}]})
        }
        Shape::Anything => json!(1),
    }
}

fn object(keys: &[Key], luck: &mut impl FnMut() -> usize) -> Value {
    let mut members = Map::new();
    for key in keys {
        // Rules and modes are what matters most.
        let often = matches!(key.name, "permissions" | "allow" | "deny" | "ask" | "defaultMode" | "sandbox");
        if luck().is_multiple_of(if often { 2 } else { 6 }) {
            members.insert(key.name.to_owned(), value(&key.shape, luck));
        }
    }
    Value::Object(members)
}

/// Settings made from a string of numbers.
fn settings() -> impl Strategy<Value = Value> {
    proptest::collection::vec(any::<u16>(), 400).prop_map(|numbers| {
        let mut at = 0;
        object(KEYS, &mut || {
            at += 1;
            usize::from(numbers[at % numbers.len()]) + at / numbers.len()
        })
    })
}

fn layers() -> impl Strategy<Value = Vec<(Layer, Value)>> {
    let file_layers = [Layer::Managed, Layer::Flag, Layer::Local, Layer::Project, Layer::User];
    proptest::collection::vec(settings(), file_layers.len())
        .prop_map(move |values| file_layers.into_iter().zip(values).collect())
}

fn load(layers: &[(Layer, Value)], trust: Trust) -> Loaded {
    let layers: Vec<(Layer, &Value)> = layers.iter().map(|(layer, value)| (*layer, value)).collect();
    of_values(&layers, &Workspace::at("/w").with_home("/home/u"), &Given { trust, ..Given::default() })
}

fn entries(loaded: &Loaded) -> BTreeSet<String> {
    let show = |entry: &mayi_core::policy::Entry| format!("{} {} {}", entry.verdict, entry.text, entry.origin);
    loaded.policy.entries().iter().map(|entry| show(entry)).collect()
}

fn allows(loaded: &Loaded) -> BTreeSet<String> {
    entries(loaded).into_iter().filter(|entry| entry.starts_with("allow")).collect()
}

fn with_rule(mut settings: Value, list: &str, rule: &str) -> Value {
    let members = settings.as_object_mut().unwrap();
    let permissions = members.entry("permissions").or_insert_with(|| json!({}));
    if !permissions.is_object() {
        *permissions = json!({});
    }
    let rules = permissions.as_object_mut().unwrap().entry(list).or_insert_with(|| json!([]));
    match rules.as_array_mut() {
        Some(rules) => rules.push(json!(rule)),
        None => *rules = json!([rule]),
    }
    settings
}

fn looseness(mode: Option<Mode>) -> u8 {
    match mode.unwrap_or_default() {
        Mode::DontAsk | Mode::Plan | Mode::Default => 0,
        Mode::AcceptEdits => 1,
        Mode::Auto | Mode::BypassPermissions => 2,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn managed_rules_survive_merge(mut layers in layers(), trusted: bool) {
        layers[0].1 = with_rule(layers[0].1.take(), "deny", "Bash(managed-rule:*)");
        let loaded = load(&layers, if trusted { Trust::Trusted } else { Trust::Untrusted });
        let found = loaded.policy.entries().iter().find(|entry| entry.text == "Bash(managed-rule:*)").unwrap();
        prop_assert_eq!(&found.status, &Status::Live);
        prop_assert_eq!(found.origin.layer, Layer::Managed);
    }

    /// A further deny adds itself, and changes no other rule and no option.
    #[test]
    fn adding_a_deny_in_any_layer_never_allows_more(layers in layers(), which in 0usize..5) {
        // Where the list is a list already, so that nothing is mended by the way.
        prop_assume!(layers[which].1["permissions"]["deny"].is_array());
        let before = load(&layers, Trust::Untrusted);
        let mut more = layers.clone();
        more[which].1 = with_rule(more[which].1.take(), "deny", "Bash(added-rule:*)");
        let after = load(&more, Trust::Untrusted);
        let mut rest = entries(&after);
        rest.retain(|entry| !entry.contains("added-rule"));
        prop_assert_eq!(rest, entries(&before));
        prop_assert_eq!(&after.policy.options, &before.policy.options);
        let only_managed = after.settings.allow_managed_permission_rules_only && layers[which].0 != Layer::Managed;
        let added = after.policy.entries().iter().any(|entry| entry.verdict == Verdict::Deny && entry.text.contains("added-rule"));
        prop_assert_eq!(added, !only_managed);
    }

    /// Whatever an untrusted repository says: no rule, directory, hook or mode that was not there without it.
    #[test]
    fn an_untrusted_repository_can_only_tighten(layers in layers()) {
        let with = load(&layers, Trust::Untrusted);
        let without: Vec<_> = layers.iter().filter(|(layer, _)| *layer != Layer::Project).cloned().collect();
        let without = load(&without, Trust::Untrusted);
        prop_assert_eq!(allows(&with), allows(&without));
        let (tight, loose) = (&with.policy.options, &without.policy.options);
        prop_assert!(with.policy.workspace.added.iter().all(|directory| without.policy.workspace.added.contains(directory)));
        prop_assert_eq!(&with.hooks, &without.hooks);
        prop_assert_eq!(&with.settings.env, &without.settings.env);
        prop_assert_eq!(&with.settings.auto_mode, &without.settings.auto_mode);
        prop_assert_eq!(&with.settings.classifier, &without.settings.classifier);
        prop_assert!(tight.bypass_disabled >= loose.bypass_disabled && tight.auto_disabled >= loose.auto_disabled);
        prop_assert!(tight.block_outside_reads >= loose.block_outside_reads);
        prop_assert!(tight.sandbox.enabled >= loose.sandbox.enabled);
        prop_assert_eq!(&tight.sandbox.excluded, &loose.sandbox.excluded);
        prop_assert!(tight.sandbox.allow_unsandboxed <= loose.sandbox.allow_unsandboxed);
        let answers = |sandbox: &mayi_core::policy::Sandbox| sandbox.enabled && sandbox.auto_allow;
        prop_assert!(answers(&tight.sandbox) <= answers(&loose.sandbox));
        prop_assert!(looseness(tight.default_mode) <= looseness(loose.default_mode));
        prop_assert!(tight.broken.len() >= loose.broken.len());
    }

    #[test]
    fn the_order_in_which_layers_are_given_is_irrelevant(layers in layers(), seed in 0usize..120) {
        let mut shuffled = layers.clone();
        shuffled.rotate_left(seed % 5);
        shuffled.swap(seed % 5, seed / 5 % 5);
        let (one, other) = (load(&layers, Trust::Trusted), load(&shuffled, Trust::Trusted));
        prop_assert_eq!(entries(&one), entries(&other));
        prop_assert_eq!(&one.policy.options, &other.policy.options);
        prop_assert_eq!(&one.effective, &other.effective);
    }

    /// A stronger layer's scalar is the one in force, and every value knows where it comes from.
    #[test]
    fn every_value_in_force_has_an_origin(layers in layers()) {
        let loaded = load(&layers, Trust::Trusted);
        for (path, setting) in loaded.effective.iter() {
            prop_assert!(!setting.origins.is_empty(), "{}", path);
        }
        for problem in lint::report(&loaded, lint::checks(&loaded)) {
            prop_assert!(problem.origin.file.is_some() || problem.origin.layer == Layer::User, "{}", problem);
            prop_assert!(!problem.message.is_empty());
        }
    }

    /// The same settings as text and as values mean the same.
    #[test]
    fn text_and_value_agree(settings in settings()) {
        let workspace = Workspace::at("/w").with_home("/home/u");
        let value = of_values(&[(Layer::Flag, &settings)], &workspace, &Given::default());
        let text = Flag::Inline(serde_json::to_string_pretty(&settings).unwrap());
        let text = of_values(&[], &workspace, &Given { flags: vec![text], ..Given::default() });
        let rules = |loaded: &Loaded| loaded.policy.entries().iter().map(|entry| (entry.verdict, entry.text.clone())).collect::<Vec<_>>();
        prop_assert_eq!(rules(&value), rules(&text));
        prop_assert_eq!(value.problems().len(), text.problems().len());
        prop_assert_eq!(value.settings, text.settings);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC{0,60}|[\\[\\]{}\",:/*a\\\\ \n]{0,60}") {
        let _ = Document::parse(&text);
        let given = Given { flags: vec![Flag::Inline(text)], ..Given::default() };
        let loaded = of_values(&[], &Workspace::at("/w"), &given);
        prop_assert!(lint::report(&loaded, lint::checks(&loaded)).iter().all(|problem| !problem.to_string().is_empty()));
    }
}
