//! The oracle: the whole decision over an abstract space, written from the specification's tables alone.
//!
//! It exists to disagree with `mayi-core`. It shares no code with the pipeline and the referral beyond the words
//! `Verdict` and `Mode`; where the core keeps one list of steps, this file keeps tables of the form "when — verdict —
//! step" and takes the first row that speaks. It must never call into the core to find an answer.

use mayi_core::mode::Mode;
use mayi_core::verdict::Verdict;

/// Everything a decision depends on, with all texts and patterns boiled down to whether they speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// What the rules and the inspection say of the call.
    pub call: CallFacts,
    /// The session it is made in.
    pub session: SessionFacts,
    /// What a hook said before stage one.
    pub pre_hook: Option<Verdict>,
    /// What stage two would find and be told.
    pub answers: Answers,
}

/// What the rules and the tool's inspection say of the call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallFacts {
    /// A deny rule names the whole tool.
    pub tool_denied: bool,
    /// An ask rule names the whole tool.
    pub tool_asked: bool,
    /// An allow rule names the whole tool.
    pub tool_allowed: bool,
    /// The inspection refuses the input.
    pub refused: bool,
    /// The tool needs a person.
    pub human_only: bool,
    /// An ask rule with content matches.
    pub content_asked: bool,
    /// A protected path would be written, or a critical one removed.
    pub protected: bool,
    /// The inspection allows it by itself: a content rule covers it, or it only reads.
    pub inspection_allows: bool,
    /// `acceptEdits` mode would allow it.
    pub edit_in_scope: bool,
    /// It is an edit, which plan mode never lets run by itself.
    pub edits: bool,
    /// Agent or REPL: never simulated under another mode.
    pub never_simulated: bool,
    /// A shell command that will run confined, with `autoAllowBashIfSandboxed` on.
    pub confined: bool,
    /// The tool is on the safe list.
    pub safe_tool: bool,
    /// What the static analysis is certain of.
    pub risk: Risk,
}

/// The static risk analysis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Risk {
    /// Not certain.
    #[default]
    Unknown,
    /// Certainly safe.
    Safe,
    /// Certainly in a blocked category.
    Blocked,
}

/// The session the call is made in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionFacts {
    /// The mode.
    pub mode: Mode,
    /// `bypassPermissions` can be entered.
    pub bypass_available: bool,
    /// `auto` can be entered.
    pub auto_available: bool,
    /// A classifier model is configured.
    pub model: bool,
    /// A person can be asked.
    pub attended: bool,
    /// One more denial by the classifier or the static analysis reaches a limit.
    pub next_denial_trips: bool,
}

/// What those who are asked in stage two would answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answers {
    /// The classifier.
    pub classifier: Classified,
    /// The `PermissionRequest` hooks.
    pub request_hook: RequestHook,
    /// The person; `None` as long as there is no answer.
    pub person: Option<Reply>,
}

/// What comes back from the classifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Classified {
    /// Go ahead.
    Allow,
    /// No.
    Block,
    /// An error or a time-out, and failures deny.
    FailedClosed,
    /// An error or a time-out, and failures fall back to prompting.
    FailedOpen,
    /// The transcript is too long to be judged.
    TooLong,
    /// The mode changed while the answer was pending.
    Superseded,
}

/// What the `PermissionRequest` hooks say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestHook {
    /// Nothing.
    Silent,
    /// Go ahead.
    Agrees,
    /// No.
    Refuses,
    /// No, and the run is over.
    Interrupts,
}

/// A person's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Go ahead.
    Yes,
    /// No.
    No,
}

/// What becomes of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The verdict. `Ask` only when a person has yet to answer.
    pub verdict: Verdict,
    /// The id of the step that settled it; for an open ask, of the step that asked.
    pub step: &'static str,
    /// The agent's run ends here.
    pub aborts: bool,
    /// The allow holds only for a confined run.
    pub confined: bool,
}

/// A row of a table: when it speaks, what it says, under which id.
type Row = (bool, Verdict, &'static str);

/// The answer the specification gives for `state`.
pub fn decide(state: &State) -> Outcome {
    match first(stage_one(state)) {
        (Verdict::Allow, step) => allowed(state, step),
        (Verdict::Ask, asker) => stage_two(state, asker),
        (Verdict::Deny, step) => denied(step),
    }
}

/// 01, stage one: the gauntlet.
fn stage_one(state: &State) -> [Row; 12] {
    let State { call, session, pre_hook, .. } = *state;
    // 04: a mode that is disabled counts as little as one that was never available.
    let bypass = matches!(session.mode, Mode::BypassPermissions | Mode::Plan) && session.bypass_available;
    let granted = granted_anyway(state) || confined_counts(state);
    // "a hook's ask forces at least ask": it closes every row that would allow.
    let open = pre_hook != Some(Verdict::Ask);
    // "edits never auto-allowed, not even by an allow rule", nor by a hook's allow. Choice: the row of 2a names plan
    // with bypass available and makes no exception for edits, so there they run.
    let unheld = open && !held_by_plan(state);
    [
        (pre_hook == Some(Verdict::Deny), Verdict::Deny, "pre"),
        (call.tool_denied, Verdict::Deny, "1a"),
        // The table has 1b speak first, the law `deny_always_wins` has a content deny win "whatever else is set".
        // The law is the stricter and the plainer of the two: an ask never hides a deny.
        (call.tool_asked && call.refused, Verdict::Deny, "1d"),
        (call.tool_asked && !confined_counts(state), Verdict::Ask, "1b"),
        (call.refused, Verdict::Deny, "1d"),
        (call.human_only, Verdict::Ask, "1e"),
        (call.content_asked, Verdict::Ask, "1f"),
        (call.protected, Verdict::Ask, "1g"),
        (bypass && open, Verdict::Allow, "2a"),
        (granted && unheld, Verdict::Allow, "2b"),
        (pre_hook == Some(Verdict::Allow) && unheld, Verdict::Allow, "3"),
        (true, Verdict::Ask, "3"),
    ]
}

/// 01, stage two: what becomes of an ask of the step `asker`.
fn stage_two(state: &State, asker: &'static str) -> Outcome {
    let State { session, pre_hook, .. } = *state;
    if session.mode == Mode::DontAsk {
        return denied("4a");
    }
    let auto = matches!(session.mode, Mode::Auto | Mode::Plan) && session.auto_available;
    // 4b.1: what was found above the line is for people, and so is what a hook wanted asked. Choice: so is an edit
    // in plan mode, which no layer of auto mode may let run.
    let not_for_classifier = asker != "3" || pre_hook == Some(Verdict::Ask) || held_by_plan(state);
    if !auto || not_for_classifier {
        return people(state, asker);
    }
    let (layer, step) = layer_that_speaks(state);
    match layer {
        Layer::Allows => allowed(state, step),
        Layer::Fails => denied(step),
        Layer::Blocks if !session.next_denial_trips => denied(step),
        // Choice: the denial that reaches the limit is not given. The layer itself is the step that then asks, as it
        // is wherever it hands a call to people with a reason of its own.
        Layer::Blocks | Layer::TooMuch if session.attended => people(state, step),
        Layer::Blocks | Layer::TooMuch => Outcome { aborts: true, ..denied(step) },
        Layer::Defers => people(state, step),
        Layer::Passes => people(state, asker),
    }
}

/// 05: cheapest first.
fn layer_that_speaks(state: &State) -> (Layer, &'static str) {
    let State { call, session, answers, .. } = *state;
    let classified = |answer| session.model && answers.classifier == answer;
    let rows = [
        (call.edit_in_scope && !call.never_simulated, Layer::Allows, "4b.2"),
        (call.safe_tool, Layer::Allows, "4b.3"),
        (call.risk == Risk::Safe, Layer::Allows, "4b.4"),
        (call.risk == Risk::Blocked, Layer::Blocks, "4b.4"),
        (classified(Classified::Allow), Layer::Allows, "4b.5"),
        (classified(Classified::Block), Layer::Blocks, "4b.5"),
        // "deny, with advice to retry". Choice: it is no judgement of the call, so it does not count as a denial.
        (classified(Classified::FailedClosed), Layer::Fails, "4b.5"),
        (classified(Classified::FailedOpen), Layer::Defers, "4b.5"),
        (classified(Classified::TooLong), Layer::TooMuch, "4b.5"),
        // A discarded answer is no answer, and without a model there is none: step 3's question is still open.
        (true, Layer::Passes, "4b.5"),
    ];
    let spoken = rows.into_iter().find(|(speaks, ..)| *speaks);
    spoken.map_or((Layer::Passes, "4b.5"), |(_, layer, step)| (layer, step))
}

/// What a layer of auto mode makes of a call.
#[derive(Clone, Copy)]
enum Layer {
    /// The call runs.
    Allows,
    /// Refused, and counted against the limits.
    Blocks,
    /// Refused, not counted.
    Fails,
    /// Attended: prompt. Unattended: the run is over.
    TooMuch,
    /// Attended: prompt. Unattended: hooks, then deny.
    Defers,
    /// Nothing: the question goes on as it came.
    Passes,
}

/// 4c, 4d, 4e: people, or the hooks that stand in for them.
fn people(state: &State, asker: &'static str) -> Outcome {
    let answers = state.answers;
    if state.session.attended {
        return match answers.person {
            Some(Reply::Yes) => allowed(state, "4e"),
            Some(Reply::No) => denied("4e"),
            None => Outcome { verdict: Verdict::Ask, step: asker, aborts: false, confined: false },
        };
    }
    match answers.request_hook {
        // Choice: a hook is no person, so in plan mode its allow does not let an edit run.
        RequestHook::Agrees if held_by_plan(state) => denied("4d"),
        RequestHook::Agrees => allowed(state, "4c"),
        RequestHook::Refuses => denied("4c"),
        RequestHook::Interrupts => Outcome { aborts: true, ..denied("4c") },
        RequestHook::Silent => denied("4d"),
    }
}

/// Plan mode: "no edit is auto-allowed".
fn held_by_plan(state: &State) -> bool {
    state.session.mode == Mode::Plan && state.call.edits
}

/// 08: auto-allow of confined commands does not count in plan mode.
fn confined_counts(state: &State) -> bool {
    state.call.confined && state.session.mode != Mode::Plan
}

/// What 2b allows without any thought of the sandbox.
fn granted_anyway(state: &State) -> bool {
    let accepted = state.session.mode == Mode::AcceptEdits && state.call.edit_in_scope;
    state.call.tool_allowed || state.call.inspection_allows || accepted
}

/// An allow holds only for a confined run when confinement spared the call a tool-wide ask, whoever allows it later,
/// and when nothing else made 2b allow it.
fn allowed(state: &State, step: &'static str) -> Outcome {
    let spared = state.call.tool_asked && confined_counts(state);
    let alone = step == "2b" && !granted_anyway(state);
    Outcome { verdict: Verdict::Allow, step, aborts: false, confined: spared || alone }
}

fn denied(step: &'static str) -> Outcome {
    Outcome { verdict: Verdict::Deny, step, aborts: false, confined: false }
}

fn first(rows: [Row; 12]) -> (Verdict, &'static str) {
    let spoken = rows.into_iter().find(|(speaks, ..)| *speaks);
    spoken.map_or((Verdict::Ask, "3"), |(_, verdict, step)| (verdict, step))
}
