//! The pages of what reading and merging report.

use mayi_core::policy::Layer;

use super::Article;
use crate::problem::Code;

pub(super) const BROKEN_FILE: Article = Article {
    code: Code::BrokenFile,
    what: "The file cannot be read at all, or not where its rules are, so nobody knows what it denies. Until it is \
           mended everything asks; a broken file of the organisation denies everything but reading.",
    layer: Layer::Flag,
    example: r#"{"permissions": {"deny": ["Bash(rm:*)" }"#,
    mended: r#"{"permissions": {"deny": ["Bash(rm:*)"]}}"#,
    fix: "Mend the JSON at the place that is shown. Comments and trailing commas are fine.",
};

pub(super) const WRONG_TYPE: Article = Article {
    code: Code::WrongType,
    what: "The key is known, but what stands there is not what it takes. It does not count; a key that can only tighten \
           counts as set.",
    layer: Layer::User,
    example: r#"{"sandbox": {"enabled": "yes"}}"#,
    mended: r#"{"sandbox": {"enabled": true}}"#,
    fix: "Write what the message names; `mayi schema` describes every key.",
};

pub(super) const UNKNOWN_KEY: Article = Article {
    code: Code::UnknownKey,
    what: "Nobody knows this key, so it has no effect. A misspelt `deny` denies nothing, which is why this is worth a \
           warning.",
    layer: Layer::User,
    example: r#"{"permissions": {"denny": ["Bash(rm:*)"]}}"#,
    mended: r#"{"permissions": {"deny": ["Bash(rm:*)"]}}"#,
    fix: "Use the name that is suggested, or remove the key.",
};

pub(super) const DUPLICATE_KEY: Article = Article {
    code: Code::DuplicateKey,
    what: "The key stands twice in one object. Lists of rules count from both places; of any other value the last one \
           counts. Other programs that read the file may see only one of the two.",
    layer: Layer::Flag,
    example: r#"{"permissions": {"deny": ["Bash(a)"], "deny": ["Bash(b)"]}}"#,
    mended: r#"{"permissions": {"deny": ["Bash(a)", "Bash(b)"]}}"#,
    fix: "Put both values into one.",
};

pub(super) const KEY_NOT_ALLOWED_HERE: Article = Article {
    code: Code::KeyNotAllowedHere,
    what: "This layer may not set this key, so it does not count. A repository's files can tighten and never loosen: \
           whoever clones one must not find their own settings weakened.",
    layer: Layer::Project,
    example: r#"{"autoMode": {"allow": ["anything this project needs"]}}"#,
    mended: r#"{"permissions": {"ask": ["Bash(npm publish:*)"]}}"#,
    fix: "Move the key to a layer that may set it; the message names them.",
};

pub(super) const MALFORMED_RULE: Article = Article {
    code: Code::MalformedRule,
    what: "The entry is no rule. In an allow list it grants nothing; in a deny or ask list the tool it names asks until \
           it is mended, because what it meant to stop is not known. Its neighbours count as ever.",
    layer: Layer::User,
    example: r#"{"permissions": {"deny": ["Bash(rm -rf"]}}"#,
    mended: r#"{"permissions": {"deny": ["Bash(rm:*)"]}}"#,
    fix: "Write `Tool` or `Tool(content)`, with the closing parenthesis at the end.",
};

pub(super) const UNKNOWN_TOOL: Article = Article {
    code: Code::UnknownTool,
    what: "No tool has this name, so the rule stops nothing. Names are compared letter by letter, with case.",
    layer: Layer::User,
    example: r#"{"permissions": {"deny": ["bash(rm:*)"]}}"#,
    mended: r#"{"permissions": {"deny": ["Bash(rm:*)"]}}"#,
    fix: "Use the name that is suggested, or declare the tool under `tools`.",
};

pub(super) const NEEDS_TRUST: Article = Article {
    code: Code::NeedsTrust,
    what: "This comes with the repository and would loosen something: an allow rule, a further directory, a hook. It \
           counts once a person trusts the folder. Deny and ask rules count at once.",
    layer: Layer::Project,
    example: r#"{"permissions": {"allow": ["Bash(npm test:*)"]}}"#,
    mended: r#"{"permissions": {"deny": ["Bash(npm publish:*)"]}}"#,
    fix: "Read the project's settings, then run `mayi trust` in its folder.",
};

pub(super) const MANAGED_ONLY: Article = Article {
    code: Code::ManagedOnly,
    what: "The organisation lets only its own rules count (`allowManagedPermissionRulesOnly`), so rules of every other \
           layer are set aside.",
    layer: Layer::Managed,
    example: r#"{"allowManagedPermissionRulesOnly": true, "permissions": {"deny": ["Bash(rm:*)"]}}"#,
    mended: r#"{"permissions": {"deny": ["Bash(rm:*)"]}}"#,
    fix: "Ask whoever keeps the organisation's settings to add the rule there.",
};

pub(super) const MODE_NOT_AVAILABLE: Article = Article {
    code: Code::ModeNotAvailable,
    what: "The starting mode is disabled by another setting, so sessions start in the default mode.",
    layer: Layer::User,
    example: r#"{"permissions": {"defaultMode": "auto", "disableAutoMode": "disable"}}"#,
    mended: r#"{"permissions": {"defaultMode": "plan", "disableAutoMode": "disable"}}"#,
    fix: "Choose another starting mode, or lift what disables it.",
};

pub(super) const STALE_SETTINGS: Article = Article {
    code: Code::StaleSettings,
    what: "The file was edited while a session or server runs, and cannot be read any more. Its last good text stays in \
           force; other files count as they are now.",
    layer: Layer::User,
    example: r#"{"permissions": "#,
    mended: r#"{"permissions": {}}"#,
    fix: "Mend the file; it is picked up before the next decision.",
};
