//! Every key of settings, as one table: its shape, who may set it, how layers merge, and what it means.
//!
//! The reader, the merge and the JSON Schema all look here and nowhere else, so they cannot disagree.

mod auto_mode;
mod sandbox;
mod services;

use mayi_core::policy::Layer;
use mayi_core::verdict::Verdict;
use serde_json::Value as Json;

/// A key of settings.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// As it is written.
    pub name: &'static str,
    /// What stands there.
    pub shape: Shape,
    /// Who may set it.
    pub scope: Scope,
    /// How several layers become one value.
    pub merge: Merge,
    /// What it means, in a sentence or two.
    pub about: &'static str,
}

/// What stands at a key.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// `true` or `false`.
    Flag,
    /// A whole number within bounds.
    Count {
        /// The least.
        least: u64,
        /// The most.
        most: u64,
    },
    /// A number that is not negative.
    Amount,
    /// Any text.
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of texts.
    Texts,
    /// A path: absolute, from home (`~/x`), or from the root of the settings source.
    Path,
    /// A list of paths: absolute, from home (`~/x`), or from the root of the settings source.
    Paths,
    /// A list of directories: absolute, from home, or from the working directory.
    Directories,
    /// A list of rules.
    Rules(Verdict),
    /// An object with these keys.
    Object(&'static [Key]),
    /// An object with names of the user's choice.
    Map(&'static Shape),
    /// A list of objects with these keys.
    List(&'static [Key]),
    /// Hooks by event.
    Hooks,
    /// Anything: another program's key.
    Anything,
}

/// Who may set a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Any layer.
    Anywhere,
    /// Any layer; what comes with a repository waits until its folder is trusted.
    Trusted,
    /// Any layer but what comes with a repository.
    Person,
    /// Neither the project's files nor the person's own files in the project.
    Outside,
    /// The organisation alone.
    Managed,
    /// Any layer, but a repository may not set this value: it would loosen.
    Tightening {
        /// The value that loosens.
        loose: bool,
    },
}

/// How several layers become one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    /// The strongest layer's scalar; lists unite; objects go key by key.
    Plain,
    /// The strict value (`true`, or the one word there is) from any layer stays, also when it is misspelt.
    Sticky,
}

impl Key {
    const fn new(name: &'static str, shape: Shape, about: &'static str) -> Self {
        Self { name, shape, scope: Scope::Anywhere, merge: Merge::Plain, about }
    }

    const fn only(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    const fn sticky(mut self) -> Self {
        self.merge = Merge::Sticky;
        self
    }

    /// The value that a sticky key has when it is set, or set to something nobody can read.
    pub(crate) fn strict_value(&self) -> Option<Json> {
        match (self.merge, self.shape) {
            (Merge::Sticky, Shape::Word(words)) => words.first().map(|word| Json::from(*word)),
            (Merge::Sticky, _) => Some(Json::Bool(true)),
            (Merge::Plain, _) => None,
        }
    }

    /// Whether a value of this key loosens confinement, so that an organisation's sandbox leaves no room for it.
    pub(crate) fn loosens(&self, value: &Json) -> bool {
        match self.scope {
            Scope::Person => true,
            Scope::Tightening { loose } => value.as_bool() == Some(loose),
            Scope::Anywhere | Scope::Trusted | Scope::Outside | Scope::Managed => false,
        }
    }
}

impl Shape {
    /// What stands there, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Shape::Flag => "true or false",
            Shape::Count { .. } | Shape::Amount => "a number",
            Shape::Text | Shape::Word(_) => "a text",
            Shape::Path => "a path",
            Shape::Texts => "a list of texts",
            Shape::Paths | Shape::Directories => "a list of paths",
            Shape::Rules(_) => "a list of rules",
            Shape::Object(_) | Shape::Map(_) | Shape::Hooks => "an object",
            Shape::List(_) => "a list of objects",
            Shape::Anything => "anything",
        }
    }
}

impl Scope {
    /// The layers that may set such a key, for people.
    pub fn layers(self) -> &'static str {
        match self {
            Scope::Anywhere => "any layer",
            Scope::Trusted => "any layer; the project's once its folder is trusted",
            Scope::Person => "any layer but the project's",
            Scope::Outside => "user, flag and managed settings",
            Scope::Managed => "managed settings",
            Scope::Tightening { .. } => "any layer; the project's only to tighten",
        }
    }
}

/// Who wrote a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Supply {
    /// The person or their organisation.
    #[default]
    Person,
    /// Whoever wrote the repository, and the person trusts it.
    TrustedRepository,
    /// Whoever wrote the repository.
    Repository,
}

/// Whether a value counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Counts,
    NeedsTrust,
    NotHere,
}

/// Whether `layer` may set `key` to `value`.
pub(crate) fn standing(key: &Key, value: &Json, layer: Layer, supply: Supply) -> Standing {
    let repository = supply != Supply::Person;
    let allowed = match key.scope {
        Scope::Anywhere | Scope::Trusted => true,
        Scope::Person => !repository,
        Scope::Outside => !repository && !matches!(layer, Layer::Project | Layer::Local),
        Scope::Managed => layer == Layer::Managed,
        Scope::Tightening { loose } => !repository || value.as_bool() != Some(loose),
    };
    match (allowed, key.scope, supply) {
        (false, _, _) => Standing::NotHere,
        (true, Scope::Trusted, Supply::Repository) => Standing::NeedsTrust,
        (true, _, _) => Standing::Counts,
    }
}

const DISABLE: Shape = Shape::Word(&["disable"]);

const PERMISSIONS: &[Key] = &[
    Key::new("allow", Shape::Rules(Verdict::Allow), "What runs without a question. From a project, once trusted."),
    Key::new("ask", Shape::Rules(Verdict::Ask), "What always asks a person."),
    Key::new("deny", Shape::Rules(Verdict::Deny), "What never runs. A deny of any layer wins."),
    Key::new(
        "additionalDirectories",
        Shape::Directories,
        "Directories beside the working directory where edits are in scope.",
    )
    .only(Scope::Trusted),
    Key::new(
        "defaultMode",
        Shape::Word(&["default", "manual", "plan", "acceptEdits", "bypassPermissions", "dontAsk", "auto"]),
        "The mode a session starts in. A project cannot choose auto or bypassPermissions.",
    ),
    Key::new("disableBypassPermissionsMode", DISABLE, "Nobody can enter bypassPermissions.").sticky(),
    Key::new("disableAutoMode", DISABLE, "Nobody can enter auto.").sticky(),
    Key::new(
        "blockReadsOutsideWorkingDirectories",
        Shape::Flag,
        "Reading outside the working directories is refused. Once true in any layer, it stays.",
    )
    .sticky(),
];

const TOOL: &[Key] = &[
    Key::new(
        "kind",
        Shape::Word(&[
            "shell",
            "powershell",
            "read",
            "search",
            "edit",
            "fetch",
            "agent",
            "skill",
            "books",
            "person",
            "plain",
        ]),
        "Which inspection reads its input.",
    ),
    Key::new("field", Shape::Text, "The input field with the path, command or URL."),
];

const AUDIT: &[Key] = &[
    Key::new("enabled", Shape::Flag, "Whether decisions are recorded."),
    Key::new("file", Shape::Text, "The audit file, when it is not in mayi's state folder."),
    Key::new("retentionDays", Shape::Count { least: 1, most: 36_500 }, "How long records are kept."),
];

const EXAMPLES: &[Key] = &[
    Key::new(
        "match",
        Shape::Texts,
        "What the rule must match: commands, paths, hosts; names of tools for a whole tool.",
    ),
    Key::new("reject", Shape::Texts, "What the rule must leave alone."),
];

/// Every key of settings.
pub const KEYS: &[Key] = &[
    Key::new("$schema", Shape::Text, "The address of the JSON Schema, for editors."),
    Key::new("permissions", Shape::Object(PERMISSIONS), "Rules, directories and the starting mode."),
    Key::new(
        "ruleExamples",
        Shape::Map(&Shape::Object(EXAMPLES)),
        "Examples for rules of this file, by rule as written. They change nothing; one that fails is a problem.",
    ),
    Key::new("allowManagedPermissionRulesOnly", Shape::Flag, "Only the organisation's rules count.")
        .only(Scope::Managed)
        .sticky(),
    Key::new("allowManagedHooksOnly", Shape::Flag, "Only the organisation's hooks run.").only(Scope::Managed).sticky(),
    Key::new("disableAutoMode", DISABLE, "Nobody can enter auto.").sticky(),
    Key::new("autoMode", Shape::Object(auto_mode::KEYS), "What auto mode knows, allows and blocks.")
        .only(Scope::Outside),
    Key::new("useAutoModeDuringPlan", Shape::Flag, "The classifier also answers in plan mode.").only(Scope::Person),
    Key::new("sandbox", Shape::Object(sandbox::KEYS), "Confinement of shell commands."),
    Key::new("hooks", Shape::Hooks, "Programs and addresses that are asked before and told after a call.")
        .only(Scope::Trusted),
    Key::new("disableAllHooks", Shape::Flag, "No hook runs. Outside managed settings it cannot stop managed hooks.")
        .only(Scope::Person),
    Key::new("allowedHttpHookUrls", Shape::Texts, "Addresses that http hooks may call; an empty list blocks all.")
        .only(Scope::Person),
    Key::new("httpHookAllowedEnvVars", Shape::Texts, "Variables that http hooks may send in headers.")
        .only(Scope::Person),
    Key::new("classifier", Shape::Object(services::CLASSIFIER), "The model behind auto mode.").only(Scope::Outside),
    Key::new("permissionExplainerEnabled", Shape::Flag, "Whether a prompt can be explained.").only(Scope::Person),
    Key::new("explainer", Shape::Object(services::EXPLAINER), "How prompts are explained.").only(Scope::Outside),
    Key::new("apiKeyHelper", Shape::Text, "A command that prints an API key.").only(Scope::Outside),
    Key::new("identity", Shape::Object(services::IDENTITY), "Where people sign in.").only(Scope::Outside),
    Key::new("server", Shape::Object(services::SERVER), "The mayi server, to run or to talk to.").only(Scope::Outside),
    Key::new("audit", Shape::Object(AUDIT), "The record of decisions.").only(Scope::Outside),
    Key::new("tools", Shape::Map(&Shape::Object(TOOL)), "Tools beyond the built-in ones, by name.")
        .only(Scope::Outside),
    Key::new("env", Shape::Map(&Shape::Text), "Variables for what mayi starts.").only(Scope::Trusted),
    Key::new("skipAutoPermissionPrompt", Shape::Flag, "Auto mode is entered without a warning.").only(Scope::Outside),
    Key::new("skipDangerousModePermissionPrompt", Shape::Flag, "Bypass mode is entered without a warning.")
        .only(Scope::Person),
    Key::new("disableSkillShellExecution", Shape::Flag, "Skills run no shell commands.").sticky(),
    Key::new("disableSideloadFlags", Shape::Flag, "Options that add settings are refused.")
        .only(Scope::Managed)
        .sticky(),
];

/// Keys of the widespread format that have no meaning here. They are accepted without a word.
pub(crate) const FOREIGN: &[&str] = &[
    "agent",
    "allowedChannelPlugins",
    "allowedMcpServers",
    "allowManagedMcpServersOnly",
    "alwaysThinkingEnabled",
    "attribution",
    "autoMemoryDirectory",
    "autoMemoryEnabled",
    "autoUpdatesChannel",
    "availableModels",
    "awsAuthRefresh",
    "awsCredentialExport",
    "blockedMarketplaces",
    "channelsEnabled",
    "cleanupPeriodDays",
    "companyAnnouncements",
    "defaultShell",
    "deniedMcpServers",
    "disableClaudeAiConnectors",
    "disableCommandPluginSources",
    "disabledMcpjsonServers",
    "effortLevel",
    "enableAllProjectMcpServers",
    "enabledMcpjsonServers",
    "enabledPlugins",
    "enforceAvailableModels",
    "extraKnownMarketplaces",
    "fallbackModel",
    "fastMode",
    "feedbackSurveyRate",
    "fileSuggestion",
    "forceLoginMethod",
    "forceLoginOrgUUID",
    "forceRemoteSettingsRefresh",
    "gcpAuthRefresh",
    "ignorePatterns",
    "includeCoAuthoredBy",
    "includeGitInstructions",
    "isolatePeerMachines",
    "language",
    "mcpServers",
    "model",
    "modelOverrides",
    "otelHeadersHelper",
    "outputStyle",
    "parentSettingsBehavior",
    "plansDirectory",
    "pluginTrustMessage",
    "policyHelper",
    "prefersReducedMotion",
    "requiredMaximumVersion",
    "requiredMinimumVersion",
    "respectGitignore",
    "showThinkingSummaries",
    "showTurnDuration",
    "spinnerTipsEnabled",
    "spinnerTipsOverride",
    "spinnerVerbs",
    "statusLine",
    "strictKnownMarketplaces",
    "teammateMode",
    "terminalProgressBarEnabled",
    "theme",
    "voiceEnabled",
    "worktree",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn visit(keys: &'static [Key], check: &mut dyn FnMut(&'static Key, &'static [Key])) {
        for key in keys {
            check(key, keys);
            if let Shape::Object(inner) | Shape::List(inner) = key.shape {
                visit(inner, check);
            } else if let Shape::Map(Shape::Object(inner)) = key.shape {
                visit(inner, check);
            }
        }
    }

    #[test]
    fn every_key_is_there_once_and_says_what_it_means() {
        let mut count = 0;
        visit(KEYS, &mut |key, siblings| {
            count += 1;
            assert_eq!(siblings.iter().filter(|other| other.name == key.name).count(), 1, "{}", key.name);
            assert!(key.about.ends_with('.') && key.about.len() > 10, "{}", key.name);
        });
        assert!(count > 80, "{count}");
        assert!(KEYS.iter().all(|key| !FOREIGN.contains(&key.name)));
    }

    #[test]
    fn a_repository_may_tighten_and_not_loosen() {
        let enabled = Key::new("enabled", Shape::Flag, "").only(Scope::Tightening { loose: false });
        assert_eq!(standing(&enabled, &Json::Bool(true), Layer::Project, Supply::TrustedRepository), Standing::Counts);
        assert_eq!(
            standing(&enabled, &Json::Bool(false), Layer::Project, Supply::TrustedRepository),
            Standing::NotHere
        );
        assert_eq!(standing(&enabled, &Json::Bool(false), Layer::Local, Supply::Person), Standing::Counts);
        assert_eq!(standing(&enabled, &Json::Bool(false), Layer::Local, Supply::Repository), Standing::NotHere);
    }
}
