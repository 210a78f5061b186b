//! Composing: sheets of all layers, and what is given beside them, become options, sources and a policy.

use std::sync::Arc;

use mayi_core::call::Workspace;
use mayi_core::catalogue::{self, DeclaredTool};
use mayi_core::policy::{Layer, Options, Origin, Policy, Sandbox, Source, Status, Written};
use mayi_core::session::Limits;
use mayi_core::verdict::Verdict;
use serde_json::Value as Json;

use super::{Flag, Given, Loaded, ReadDocument, Withheld, Withholding, mode, text_of};
use crate::hooks::Hook;
use crate::keys::Supply;
use crate::merge::{self, Effective};
use crate::nearest::nearest;
use crate::path_text;
use crate::places::Places;
use crate::problem::{Code, Problem};
use crate::settings::Settings;
use crate::sheet::{Provenance, Reading, Sheet};

/// One policy from all sheets.
pub(super) fn compose(mut sheets: Vec<Sheet>, given: &Given, workspace: Workspace, options: Options) -> Loaded {
    sheets.extend(given_rules(given, &workspace));
    sheets.sort_by_key(|sheet| sheet.layer);
    let mut problems: Vec<Problem> = sheets.iter_mut().flat_map(|sheet| std::mem::take(&mut sheet.problems)).collect();
    let (effective, refused) = merge::merge(&sheets);
    problems.extend(refused);
    let read = documents(&sheets);
    let mut broken: Vec<Origin> = sheets.iter().filter_map(|sheet| sheet.broken.clone()).collect();
    let settings = typed(&effective).unwrap_or_else(|problem| {
        broken.push(problem.origin.clone());
        problems.push(*problem);
        Box::default()
    });
    let starting = mode::starting(&sheets, given, &mut problems);
    let workspace = Workspace { added: added(&sheets, given, &settings, &workspace), ..workspace };
    let hooks = hooks(&mut sheets, &settings, &effective);
    let sandbox_by = sandbox_by(&sheets, &settings, &effective);
    let (sources, withheld) = sources(sheets, &settings);
    let options = Options { default_mode: starting, broken, ..with_settings(options, &settings, sandbox_by) };
    let policy = Arc::new(Policy::build(workspace, sources, options));
    Loaded { policy, withheld, effective, settings, hooks, found: problems, read }
}

/// Options and answers are sheets like any other, with rules alone.
fn given_rules(given: &Given, workspace: &Workspace) -> Vec<Sheet> {
    let lists = [(Layer::Cli, &given.cli.rules), (Layer::Command, &given.command), (Layer::Session, &given.session)];
    let sheet = |(layer, rules): (Layer, &Vec<Written>)| {
        let provenance = Provenance { root: workspace.directory.clone(), ..Provenance::default() };
        Sheet { rules: rules.clone(), ..Sheet::empty(layer, provenance) }
    };
    lists.into_iter().filter(|(_, rules)| !rules.is_empty()).map(sheet).collect()
}

fn documents(sheets: &[Sheet]) -> Vec<ReadDocument> {
    let read = |sheet: &Sheet| {
        let document = sheet.document.clone()?;
        let (file, path) = (sheet.provenance.file.clone(), sheet.path.clone());
        Some(ReadDocument { layer: sheet.layer, file, path, document })
    };
    sheets.iter().filter_map(read).collect()
}

/// The merged settings as types. The table and the types agree, so this cannot fail; if it did, everything asks.
fn typed(effective: &Effective) -> Result<Box<Settings>, Box<Problem>> {
    // Most files hold rules and nothing else.
    if effective.iter().next().is_none() { Ok(Box::default()) } else { read(effective) }
}

/// Apart from the other way, which would have to find room on the stack for all settings.
#[inline(never)]
fn read(effective: &Effective) -> Result<Box<Settings>, Box<Problem>> {
    serde_json::from_value(effective.to_value()).map_err(|error| {
        let message = format!("the merged settings cannot be read: {error}");
        Box::new(Problem::new(Code::BrokenFile, Origin::of(Layer::User), message))
    })
}

/// Working directories beyond the first. While reading outside is refused, those that a repository names do not
/// count, trusted or not: it could name anything.
fn added(sheets: &[Sheet], given: &Given, settings: &Settings, workspace: &Workspace) -> Vec<String> {
    let blocked = settings.permissions.block_reads_outside_working_directories;
    let counts = |sheet: &&Sheet| !blocked || sheet.provenance.supply == Supply::Person;
    let readings = sheets.iter().filter(counts).flat_map(|sheet| &sheet.readings);
    let listed = readings
        .filter(|reading| reading.path == "permissions.additionalDirectories")
        .filter_map(|reading| reading.value.as_array())
        .flatten()
        .filter_map(Json::as_str)
        .map(str::to_owned);
    let absolute = |text: &String| path_text::resolve(text, &workspace.directory, workspace.home.as_deref());
    let given = given.cli.directories.iter().chain(&given.session_directories).filter_map(absolute);
    let mut directories: Vec<String> = Vec::new();
    for directory in given.chain(listed) {
        if !directories.contains(&directory) {
            directories.push(directory);
        }
    }
    directories
}

fn hooks(sheets: &mut [Sheet], settings: &Settings, effective: &Effective) -> Vec<Hook> {
    let stopped_by_managed = effective
        .setting("disableAllHooks")
        .is_some_and(|setting| setting.origins.iter().any(|origin| origin.layer == Layer::Managed));
    let runs = |layer: Layer| match layer {
        Layer::Managed => !(settings.disable_all_hooks && stopped_by_managed),
        Layer::Flag | Layer::Cli | Layer::Command | Layer::Session | Layer::Local | Layer::Project | Layer::User => {
            !settings.disable_all_hooks && !settings.allow_managed_hooks_only
        }
    };
    let mut hooks: Vec<Hook> = Vec::new();
    for sheet in sheets.iter_mut().filter(|sheet| runs(sheet.layer)) {
        for hook in std::mem::take(&mut sheet.hooks) {
            if !hook.is_own() && !hooks.iter().any(|other| other.is_same(&hook)) {
                hooks.push(hook);
            }
        }
    }
    hooks
}

/// The rules that count, by source, and those that do not.
fn sources(sheets: Vec<Sheet>, settings: &Settings) -> (Vec<Source>, Vec<Withheld>) {
    let (mut sources, mut withheld) = (Vec::new(), Vec::new());
    for Sheet { layer, provenance, rules, withheld: waiting, .. } in sheets {
        let origin = |written: &Written| Origin {
            layer,
            file: provenance.file.clone(),
            line: written.line,
            column: written.column,
        };
        let hold = |why| move |written: Written| Withheld { origin: origin(&written), written, why };
        withheld.extend(waiting.into_iter().map(hold(Withholding::NeedsTrust)));
        // The organisation said that its rules are the only ones, so a person's deny is set aside as well as a
        // person's allow: the organisation knows what runs and what does not.
        if settings.allow_managed_permission_rules_only && layer != Layer::Managed {
            withheld.extend(rules.into_iter().map(hold(Withholding::ManagedOnly)));
        } else if !rules.is_empty() {
            sources.push(Source { layer, file: provenance.file.clone(), root: provenance.root.clone(), rules });
        }
    }
    (sources, withheld)
}

fn with_settings(options: Options, settings: &Settings, by: SandboxBy) -> Options {
    let defaults = Limits::default();
    let limits = settings.auto_mode.limits;
    let declared = |(name, tool): (&String, &crate::settings::DeclaredTool)| DeclaredTool {
        name: name.clone(),
        kind: tool.kind,
        field: tool.field.clone(),
    };
    Options {
        bypass_disabled: settings.permissions.disable_bypass_permissions_mode.is_some(),
        auto_disabled: settings.permissions.disable_auto_mode.is_some() || settings.disable_auto_mode.is_some(),
        plan_without_auto: settings.use_auto_mode_during_plan == Some(false),
        block_outside_reads: settings.permissions.block_reads_outside_working_directories,
        sandbox: sandbox(settings, by),
        limits: Limits {
            in_a_row: limits.in_a_row.unwrap_or(defaults.in_a_row),
            total: limits.total.unwrap_or(defaults.total),
        },
        classify_all_shell: settings.auto_mode.classify_all_shell,
        strict_grants: settings.auto_mode.strict_grants,
        safe_tools: settings.auto_mode.safe_tools.clone(),
        tools: settings.tools.iter().map(declared).collect(),
        ..options
    }
}

fn sandbox(settings: &Settings, by: SandboxBy) -> Sandbox {
    let wanted = &settings.sandbox;
    Sandbox {
        enabled: wanted.enabled,
        auto_allow: wanted.auto_allow_bash_if_sandboxed.unwrap_or(true) && by == SandboxBy::Person,
        allow_unsandboxed: wanted.allow_unsandboxed_commands.unwrap_or(true),
        excluded: wanted.excluded_commands.clone(),
    }
}

/// Who switched the sandbox on. A repository that nobody trusts may do so, but must not thereby answer questions: its
/// confined commands still ask.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SandboxBy {
    Person,
    Stranger,
}

fn sandbox_by(sheets: &[Sheet], settings: &Settings, effective: &Effective) -> SandboxBy {
    let own = sheets.iter().filter(|sheet| sheet.provenance.supply != Supply::Repository);
    let readings = own.flat_map(|sheet| sheet.readings.iter().rev().map(|reading| (sheet.layer, reading)));
    let mut switches = readings.filter(|(_, reading)| reading.path == "sandbox.enabled");
    let counts = |(layer, reading): &(Layer, &Reading)| effective.locks.refuse(*layer, reading).is_none();
    let said = switches.find(counts).map(|(_, reading)| &reading.value);
    if settings.sandbox.enabled && said != Some(&Json::Bool(true)) { SandboxBy::Stranger } else { SandboxBy::Person }
}

/// Rules that are there and do not count.
pub(super) fn withheld_problems(loaded: &Loaded) -> Vec<Problem> {
    let problem = |held: &Withheld| {
        let Withheld { written, origin, why } = held;
        let (code, message, fix) = match why {
            Withholding::NeedsTrust => (
                Code::NeedsTrust,
                format!("`{}` comes with the repository and waits until its folder is trusted", written.text),
                "run `mayi trust` to trust it",
            ),
            Withholding::ManagedOnly => (
                Code::ManagedOnly,
                format!("`{}` does not count: only the organisation's rules do", written.text),
                "ask whoever keeps the organisation's settings",
            ),
        };
        Problem::new(code, origin.clone(), message).about(&written.text, written.verdict).fix(fix)
    };
    loaded.withheld.iter().map(problem).collect()
}

/// Rules that cannot be read, and deny and ask rules for tools nobody knows.
pub(super) fn rule_problems(loaded: &Loaded) -> Vec<Problem> {
    let mut problems = Vec::new();
    for entry in loaded.policy.entries() {
        let problem = match &entry.status {
            Status::Malformed(error) => {
                let fix = match entry.verdict {
                    Verdict::Allow => "it grants nothing until it is mended",
                    Verdict::Ask | Verdict::Deny => "until it is mended, the tool it names asks",
                };
                let message = format!("`{}` is no rule: {error}", entry.text);
                Problem::new(Code::MalformedRule, entry.origin.clone(), message).fix(fix)
            }
            Status::Live | Status::Idle(_) => match unknown_tool(&entry.rule.tool, entry.verdict, loaded) {
                Some(problem) => Problem { origin: entry.origin.clone(), ..problem },
                None => continue,
            },
        };
        problems.push(problem.about(&entry.text, entry.verdict));
    }
    for problem in problems.iter_mut().take(crate::sheet::SHOWN) {
        loaded.show(problem);
    }
    problems
}

fn unknown_tool(tool: &str, list: Verdict, loaded: &Loaded) -> Option<Problem> {
    let declared = &loaded.policy.options.tools;
    let known = tool.contains('*')
        || tool.starts_with("mcp__")
        || catalogue::built_in(tool).is_some()
        || declared.iter().any(|other| other.name == tool);
    if known || list == Verdict::Allow {
        return None;
    }
    let names = catalogue::all().iter().map(|tool| tool.name).chain(declared.iter().map(|tool| tool.name.as_str()));
    let fix = match nearest(tool, names) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "declare it under `tools` if an agent has it".to_owned(),
    };
    let problem = Problem::new(Code::UnknownTool, Origin::of(Layer::User), format!("no tool is called `{tool}`"));
    Some(problem.fix(fix))
}

impl Loaded {
    /// Gives a problem the line it stands on.
    pub(crate) fn show(&self, problem: &mut Problem) {
        let Some(text) = problem.origin.file.as_deref().and_then(|file| self.text(file)) else { return };
        let width = problem.rule.as_deref().map_or(1, |rule| rule.chars().count() + 2);
        let place = crate::document::Place {
            line: problem.origin.line,
            column: problem.origin.column,
            width: u32::try_from(width).unwrap_or(1),
        };
        problem.excerpt = crate::problem::Excerpt::at(text, place);
    }
}

/// mayi's own files: nobody writes them without a person's word.
pub(super) fn protected(places: &Places, given: &Given) -> Vec<String> {
    let flags = given.flags.iter().filter_map(|flag| match flag {
        Flag::File(path) => Some(places.directory.join(path)),
        Flag::Inline(_) => None,
    });
    let all = places.protected().into_iter().chain(flags);
    let mut paths: Vec<String> = all.filter_map(|path| path_text::resolve(&text_of(&path), "/", None)).collect();
    paths.sort();
    paths.dedup();
    paths
}
