//! Permission updates: what an approval, a hook or `mayi rules` changes, in the widespread shape, and the changes of
//! one session kept in memory.

use mayi_core::mode::Mode;
use mayi_core::policy::{Layer, Written};
use mayi_core::rule::Rule;
use mayi_core::verdict::Verdict;
use serde::{Deserialize, Serialize};

/// One change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum PermissionUpdate {
    /// Adds rules to a list.
    AddRules(Rules),
    /// Makes these the only rules of a list.
    ReplaceRules(Rules),
    /// Takes rules out of a list.
    RemoveRules(Rules),
    /// Changes the mode.
    SetMode {
        /// The new mode.
        mode: Mode,
        /// Where.
        destination: Destination,
    },
    /// Adds working directories.
    AddDirectories(Directories),
    /// Takes working directories out.
    RemoveDirectories(Directories),
}

/// Rules of an update.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// The rules.
    pub rules: Vec<RuleValue>,
    /// Their list.
    pub behavior: Verdict,
    /// Where.
    pub destination: Destination,
}

/// Directories of an update.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directories {
    /// The directories.
    pub directories: Vec<String>,
    /// Where.
    pub destination: Destination,
}

/// A rule of an update: no escaping.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleValue {
    /// The tool.
    pub tool_name: String,
    /// What the rule is about; the whole tool when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule_content: Option<String>,
}

/// Where an update goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Destination {
    /// Memory alone, for this session.
    Session,
    /// The person's own settings for the project.
    LocalSettings,
    /// The project's shared settings.
    ProjectSettings,
    /// The person's settings.
    UserSettings,
    /// As if given as an option.
    CliArg,
}

impl Destination {
    /// The layer whose file is written; `None` for what lives in memory.
    pub fn layer(self) -> Option<Layer> {
        match self {
            Destination::LocalSettings => Some(Layer::Local),
            Destination::ProjectSettings => Some(Layer::Project),
            Destination::UserSettings => Some(Layer::User),
            Destination::Session | Destination::CliArg => None,
        }
    }
}

impl PermissionUpdate {
    /// Where it goes.
    pub fn destination(&self) -> Destination {
        match self {
            PermissionUpdate::AddRules(rules)
            | PermissionUpdate::ReplaceRules(rules)
            | PermissionUpdate::RemoveRules(rules) => rules.destination,
            PermissionUpdate::SetMode { destination, .. } => *destination,
            PermissionUpdate::AddDirectories(directories) | PermissionUpdate::RemoveDirectories(directories) => {
                directories.destination
            }
        }
    }
}

impl RuleValue {
    /// The rule.
    pub fn rule(&self) -> Rule {
        self.rule_content
            .as_ref()
            .map_or_else(|| Rule::tool(&self.tool_name), |content| Rule::content(&self.tool_name, content))
    }
}

impl From<&Rule> for RuleValue {
    fn from(rule: &Rule) -> Self {
        Self { tool_name: rule.tool.clone(), rule_content: rule.content.clone() }
    }
}

/// What a session's answers added. Kept with the session; directories given by an option are not in here, so taking
/// one out never takes an option back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionPermissions {
    /// Rules with their list.
    pub rules: Vec<SessionRule>,
    /// Directories.
    pub directories: Vec<String>,
}

/// A rule of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRule {
    /// Its list.
    pub behavior: Verdict,
    /// The rule as text.
    pub rule: String,
}

impl SessionPermissions {
    /// Applies an update, whatever its destination. A mode is the session's own business and changes nothing here.
    pub fn apply(&mut self, update: &PermissionUpdate) {
        match update {
            PermissionUpdate::AddRules(rules) => self.add(rules),
            PermissionUpdate::ReplaceRules(rules) => {
                self.rules.retain(|own| own.behavior != rules.behavior);
                self.add(rules);
            }
            PermissionUpdate::RemoveRules(rules) => {
                let named: Vec<String> = texts(rules);
                self.rules.retain(|own| own.behavior != rules.behavior || !named.contains(&own.rule));
            }
            PermissionUpdate::SetMode { .. } => {}
            PermissionUpdate::AddDirectories(added) => {
                for directory in &added.directories {
                    if !self.directories.contains(directory) {
                        self.directories.push(directory.clone());
                    }
                }
            }
            PermissionUpdate::RemoveDirectories(removed) => {
                self.directories.retain(|own| !removed.directories.contains(own));
            }
        }
    }

    fn add(&mut self, rules: &Rules) {
        for rule in texts(rules) {
            let new = SessionRule { behavior: rules.behavior, rule };
            if !self.rules.contains(&new) {
                self.rules.push(new);
            }
        }
    }

    /// The rules as a policy takes them.
    pub fn written(&self) -> Vec<Written> {
        self.rules.iter().map(|own| Written::new(own.behavior, &own.rule)).collect()
    }
}

fn texts(rules: &Rules) -> Vec<String> {
    rules.rules.iter().map(|value| value.rule().to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_widespread_shape_is_read_and_written() {
        let value = json!({"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "npm test:*"}, {"toolName": "Read"}],
            "behavior": "allow", "destination": "localSettings"});
        let update: PermissionUpdate = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(serde_json::to_value(&update).unwrap(), value);
        let value = json!({"type": "setMode", "mode": "acceptEdits", "destination": "session"});
        assert_eq!(
            serde_json::to_value(serde_json::from_value::<PermissionUpdate>(value.clone()).unwrap()).unwrap(),
            value
        );
        let value = json!({"type": "removeDirectories", "directories": ["/x"], "destination": "cliArg"});
        assert_eq!(serde_json::from_value::<PermissionUpdate>(value).unwrap().destination().layer(), None);
    }

    fn rules(texts: &[&str]) -> Rules {
        let rules = texts.iter().map(|text| RuleValue::from(&text.parse::<Rule>().unwrap())).collect();
        Rules { rules, behavior: Verdict::Allow, destination: Destination::Session }
    }

    #[test]
    fn a_session_keeps_what_was_answered() {
        let mut session = SessionPermissions::default();
        session.apply(&PermissionUpdate::AddRules(rules(&["Bash(a)", "Bash(b)"])));
        session.apply(&PermissionUpdate::AddRules(rules(&["Bash(b)", "Bash(c)"])));
        session.apply(&PermissionUpdate::RemoveRules(rules(&["Bash(a)"])));
        assert_eq!(session.written().iter().map(|rule| rule.text.as_str()).collect::<Vec<_>>(), ["Bash(b)", "Bash(c)"]);
        session.apply(&PermissionUpdate::ReplaceRules(rules(&["Read"])));
        assert_eq!(session.rules.len(), 1);
    }
}
