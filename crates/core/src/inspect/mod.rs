//! Inspections: a tool's own reading of its input. One look, several fields; the steps read the fields and compute
//! nothing again. One file per kind of tool.

mod files;
mod names;
mod powershell;
pub(crate) mod shell;
mod web;

use mayi_shell::effect::Effect;
use mayi_shell::observe::{Observations, Question};

use crate::call::Call;
use crate::catalogue::{Kind, Tool};
use crate::policy::Policy;
use crate::reason::{Part, Reason};
use crate::risk::{self, Assessment};
use crate::session::Session;
use crate::verdict::{Bounds, Verdict};

/// What a tool's own reading of its input found.
#[derive(Clone, Debug, Default)]
pub struct Inspection {
    /// A content deny rule, or a refusal of its own.
    pub deny: Option<Reason>,
    /// A content ask rule.
    pub ask: Option<Reason>,
    /// A protected path would be written, or a critical one removed.
    pub guarded: Option<Reason>,
    /// Something speaks for it: a content rule, only reading, the mode.
    pub allow: Option<Reason>,
    /// It only reads, and only where reading is free; what rules say makes no difference.
    pub reads_only: bool,
    /// Something would speak for it in accept-edits mode.
    pub accept_edits: Option<Reason>,
    /// It will run confined.
    pub confined: bool,
    /// Where it runs, if commands are confined at all.
    pub bounds: Bounds,
    /// It writes files as an edit does, which plan mode holds back.
    pub edits: bool,
    /// The tool needs a person by its nature.
    pub person: bool,
    /// The tool is on auto mode's safe list.
    pub safe_tool: bool,
    /// Accept-edits mode never speaks for this tool in auto mode.
    pub never_simulated: bool,
    /// How many commands it runs.
    pub commands: Option<usize>,
    /// The part that nobody speaks for.
    pub open: Option<Part>,
    /// What the static risk analysis says.
    pub risk: Assessment,
    /// What it does, for people and programs that ask.
    pub effects: Vec<Effect>,
    /// What would have to be known of the machine to say more.
    pub questions: Vec<Question>,
}

/// Everything an inspection may look at.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The call.
    pub call: &'a Call,
    /// Its tool.
    pub tool: Tool<'a>,
    /// The policy.
    pub policy: &'a Policy,
    /// The session.
    pub session: &'a Session,
    /// What is known of the machine.
    pub facts: &'a Observations,
}

/// Reads the input of a call.
pub fn inspect(call: &Call, policy: &Policy, session: &Session, facts: &Observations) -> Inspection {
    let tool = policy.tool(&call.tool);
    let view = View { call, tool, policy, session, facts };
    let mut inspection = match (&call.input, tool.kind) {
        (serde_json::Value::Object(_), _) | (_, Kind::Books | Kind::Person) => read_input(&view),
        _ => Inspection::refused("the input is not a JSON object".to_owned()),
    };
    inspection.person |= tool.person;
    let blocked = matches!(inspection.risk, Assessment::Blocked { .. });
    inspection.safe_tool |= !blocked && (tool.safe || policy.options.safe_tools.contains(&call.tool));
    inspection.never_simulated |= tool.kind == Kind::Agent || tool.name == "REPL";
    apply_parameters(&view, &mut inspection);
    inspection
}

fn read_input(view: &View<'_>) -> Inspection {
    match view.tool.kind {
        Kind::Shell => shell::inspect(view),
        Kind::Powershell => powershell::inspect(view),
        Kind::Read => files::inspect_read(view),
        Kind::Search => files::inspect_search(view),
        Kind::Edit => files::inspect_edit(view),
        Kind::Fetch => web::inspect(view),
        Kind::Agent => names::inspect_agent(view),
        Kind::Skill => names::inspect_skill(view),
        Kind::Books => Inspection { allow: Some(Reason::Harmless), ..Inspection::default() },
        Kind::Person => Inspection::default(),
        Kind::Plain => Inspection { risk: risk::of_tool(&view.call.tool), ..Inspection::default() },
    }
}

/// `Tool(param:value)` rules hold for every kind of tool.
fn apply_parameters(view: &View<'_>, inspection: &mut Inspection) {
    let matching = |list| {
        let (rule, matched) = view.policy.parameter(list, view.call)?;
        Some(Reason::Rule { rule: rule.clone(), matched: Some(matched) })
    };
    if inspection.deny.is_none() {
        inspection.deny = matching(Verdict::Deny);
    }
    if inspection.ask.is_none() {
        inspection.ask = matching(Verdict::Ask);
    }
}

impl Inspection {
    /// Refused: the input is not what the tool takes.
    pub fn refused(problem: String) -> Self {
        Self { deny: Some(Reason::BadInput { problem }), ..Self::default() }
    }
}

impl<'a> View<'a> {
    /// The text of the tool's primary field, or the refusal that says it is missing.
    fn primary(&self) -> Result<&'a str, Box<Inspection>> {
        let Some(field) = self.tool.field else {
            return Err(Box::new(Inspection::refused(format!("`{}` declares no field to look at", self.tool.name))));
        };
        let found = self.call.input.get(field);
        let problem = match found {
            Some(serde_json::Value::String(text)) => return Ok(text),
            Some(_) => format!("`{field}` is not text"),
            None => format!("`{field}` is missing"),
        };
        Err(Box::new(Inspection::refused(problem)))
    }
}
