//! Settings that are no rules and that a decision looks at: each is changed by itself and the difference shown by calls
//! that such settings are about (`data/calls.txt`).

use std::sync::Arc;

use mayi_core::call::Call;
use mayi_core::mode::Mode;
use mayi_core::policy::{Options, Policy};
use mayi_settings::Loaded;
use serde_json::json;

use super::witness::{About, Pair, sample};
use super::{Because, Came, Diff, Undecided};

const CALLS: &str = include_str!("../../data/calls.txt");

/// A part of settings as text.
type Shown = fn(&Loaded) -> String;

/// A setting by its name: how it is shown, and how it is taken from one policy to another.
struct Setting {
    name: &'static str,
    shown: fn(&Policy) -> String,
    take: fn(&mut Options, &Options),
}

macro_rules! setting {
    ($name:literal, $($field:ident).+) => {
        Setting {
            name: $name,
            shown: |policy| format!("{:?}", policy.options.$($field).+),
            take: |own, from| own.$($field).+.clone_from(&from.$($field).+),
        }
    };
}

/// Every setting that a decision looks at.
const SETTINGS: [Setting; 16] = [
    Setting {
        name: "permissions.defaultMode",
        shown: |policy| policy.options.default_mode.map_or("not set", Mode::word).to_owned(),
        take: |own, from| own.default_mode = from.default_mode,
    },
    setting!("permissions.disableBypassPermissionsMode", bypass_disabled),
    setting!("permissions.disableAutoMode", auto_disabled),
    setting!("useAutoModeDuringPlan: false", plan_without_auto),
    setting!("permissions.blockReadsOutsideWorkingDirectories", block_outside_reads),
    setting!("sandbox.enabled", sandbox.enabled),
    setting!("sandbox.autoAllowBashIfSandboxed", sandbox.auto_allow),
    setting!("sandbox.allowUnsandboxedCommands", sandbox.allow_unsandboxed),
    setting!("sandbox.excludedCommands", sandbox.excluded),
    setting!("autoMode.limits", limits),
    setting!("autoMode.strictGrants", strict_grants),
    setting!("autoMode.classifyAllShell", classify_all_shell),
    setting!("autoMode.safeTools", safe_tools),
    setting!("tools", tools),
    setting!("protected files", protected_files),
    setting!("settings that cannot be read", broken),
];

/// Compares everything that is no rule.
pub(super) fn compare(pair: &Pair<'_>, diff: &mut Diff) {
    for setting in &SETTINGS {
        let (old, new) = ((setting.shown)(&pair.old.policy), (setting.shown)(&pair.new.policy));
        if old != new {
            let mut changed = pair.old.clone();
            let Policy { workspace, options, .. } = &*pair.old.policy;
            let mut options = options.clone();
            (setting.take)(&mut options, &pair.new.policy.options);
            let policy = Policy::build(workspace.clone(), pair.old.policy.sources().to_vec(), options);
            changed.policy = Arc::new(policy);
            show(&Pair { new: &changed, ..*pair }, (setting.name, old, new), diff);
        }
    }
    let added = |loaded: &Loaded| format!("{:?}", loaded.policy.workspace.added);
    let (old, new) = (added(pair.old), added(pair.new));
    if old != new {
        show(pair, ("permissions.additionalDirectories", old, new), diff);
    }
    compare_unseen(pair, diff);
}

/// What others than the policy decide by: nobody knows what they would say.
fn compare_unseen(pair: &Pair<'_>, diff: &mut Diff) {
    let told: [(&str, Shown, &str); 3] = [
        ("hooks", |loaded| format!("{:?}", loaded.hooks), "what hooks say is not known before they run"),
        ("autoMode", |loaded| format!("{:?}", loaded.settings.auto_mode), "what a model makes of it is not known"),
        ("classifier", |loaded| format!("{:?}", loaded.settings.classifier), "what a model makes of it is not known"),
    ];
    for (name, shown, why) in told {
        let said = diff.widened.iter().chain(&diff.narrowed).any(|found| found.region.starts_with(name));
        if shown(pair.old) != shown(pair.new) && !said {
            diff.undecided.push(Undecided { region: name.to_owned(), why: why.to_owned(), because: Vec::new() });
        }
    }
}

fn show(pair: &Pair<'_>, (name, old, new): (&str, String, String), diff: &mut Diff) {
    let one = |change, value: String| Because { change, what: format!("{name}: {value}"), list: None, origin: None };
    let because = [one(Came::Removed, old), one(Came::Added, new)];
    let about = About { region: name, because: &because };
    let calls = calls(pair);
    let mut found: Vec<super::Region> = calls.iter().filter_map(|call| pair.told_apart(call, &about)).collect();
    if found.is_empty() {
        found = calls.iter().filter_map(|call| pair.told_apart_at_start(call, &about)).collect();
    }
    // One witness each way is enough.
    let widened = found.iter().position(|region| region.new < region.old);
    let narrowed = found.iter().position(|region| region.new > region.old);
    for index in widened.into_iter().chain(narrowed) {
        if let Some(region) = found.get(index) {
            diff.note(region.clone());
        }
    }
    if found.is_empty() {
        let why = "no call was found that shows what it changes".to_owned();
        diff.undecided.push(Undecided { region: name.to_owned(), why, because: because.to_vec() });
    }
}

/// Calls that such settings are about, those about what these settings name among them.
fn calls(pair: &Pair<'_>) -> Vec<Call> {
    let lines = CALLS.lines().filter(|line| !line.is_empty() && !line.starts_with("# "));
    let commands = lines.flat_map(|line| {
        let plain = Call::shell(line);
        let outside = Call::new("Bash", json!({ "command": line, "dangerouslyDisableSandbox": true }));
        [plain, outside]
    });
    let policies = [&pair.old.policy, &pair.new.policy];
    let names = policies.iter().flat_map(|policy| {
        let options = &policy.options;
        options.safe_tools.iter().cloned().chain(options.tools.iter().map(|tool| tool.name.clone()))
    });
    let tools = ["Read", "Edit", "Write", "Grep", "WebFetch", "Agent", "mcp__server__tool"].map(str::to_owned);
    let of_tools = tools.into_iter().chain(names).map(|name| sample(&name, &pair.new.policy));
    let places = policies.iter().flat_map(|policy| {
        let added = policy.workspace.added.iter().map(|folder| format!("{}/file", folder.trim_end_matches('/')));
        added.chain(policy.options.protected_files.iter().cloned())
    });
    let of_places =
        places.flat_map(|place| ["Read", "Edit"].map(|tool| Call::new(tool, json!({ "file_path": place }))));
    let excluded = policies.iter().flat_map(|policy| policy.options.sandbox.excluded.iter());
    let of_excluded = excluded.map(|pattern| Call::shell(pattern.trim_end_matches([':', '*', ' '])));
    commands.chain(of_tools).chain(of_places).chain(of_excluded).collect()
}
