//! One call from start to end, without doing any I/O: the evaluation says what it needs, whoever drives it brings it.
//!
//! ```
//! use std::sync::Arc;
//! use mayi_core::call::{Call, Workspace};
//! use mayi_core::evaluation::{Evaluation, Progress};
//! use mayi_core::policy::{Options, Policy};
//! use mayi_core::session::Session;
//! use mayi_core::verdict::Verdict;
//! use mayi_shell::observe::Answer;
//!
//! let policy = Arc::new(Policy::build(Workspace::at("/work"), vec![], Options::default()));
//! let mut evaluation = Evaluation::begin(Call::shell("ls src"), policy, Session::default())?;
//! loop {
//!     match evaluation.progress() {
//!         // A driver without a file system answers that nothing is there.
//!         Progress::Observe(questions) => evaluation.observe(questions.into_iter().map(|q| (q, Answer::Absent))),
//!         Progress::Refer(_) => break,
//!         Progress::Done(decision) => {
//!             assert_eq!(decision.verdict, Verdict::Allow);
//!             break;
//!         }
//!         Progress::Abort(_) => break,
//!     }
//! }
//! # Ok::<(), mayi_core::session::Aborted>(())
//! ```

use std::sync::Arc;

use mayi_shell::observe::{Answer as Observed, Observations, Question};

use crate::call::Call;
use crate::inspect::{self, Inspection};
use crate::pipeline::{self, Case, Said};
use crate::policy::Policy;
use crate::reason::Reason;
use crate::referral::{self, Answer, Referral, Referred};
use crate::session::{Aborted, Session};
use crate::step::Step;
use crate::verdict::{Decision, Verdict};

/// How often the machine may be asked again before what is still open counts as unknown.
const ROUNDS: usize = 6;

/// One call on its way to a decision.
#[derive(Clone, Debug)]
pub struct Evaluation {
    call: Call,
    policy: Arc<Policy>,
    session: Session,
    hook: Option<Said>,
    facts: Observations,
    rounds: usize,
    inspection: Inspection,
    referred: Option<Referred>,
    changed: bool,
}

/// What the evaluation needs next.
#[derive(Clone, Debug)]
pub enum Progress {
    /// Facts about the machine: bring them with [`Evaluation::observe`].
    Observe(Vec<Question>),
    /// An answer: bring it with [`Evaluation::answer`].
    Refer(Referral),
    /// Nothing: this is the decision.
    Done(Decision),
    /// Nothing ever again: the run ends.
    Abort(Aborted),
}

impl Evaluation {
    /// Step 0: an aborted session decides nothing; otherwise the call is on its way.
    pub fn begin(call: Call, policy: Arc<Policy>, session: Session) -> Result<Self, Aborted> {
        Self::begin_knowing(Observations::default(), call, policy, session)
    }

    /// The same, with facts that are known already.
    pub fn begin_knowing(
        facts: Observations,
        call: Call,
        policy: Arc<Policy>,
        session: Session,
    ) -> Result<Self, Aborted> {
        if let Some(aborted) = &session.aborted {
            return Err(aborted.clone());
        }
        let inspection = inspect::inspect(&call, &policy, &session, &facts);
        Ok(Self { call, policy, session, hook: None, facts, rounds: 0, inspection, referred: None, changed: false })
    }

    /// What hooks before the call said. Their changed input, if any, must already be the call's.
    pub fn with_hook(mut self, said: Said) -> Self {
        self.hook = Some(said);
        self
    }

    /// The call under decision: the changed one, if a hook changed it.
    pub fn call(&self) -> &Call {
        &self.call
    }

    /// The tool's own reading of the input.
    pub fn inspection(&self) -> &Inspection {
        &self.inspection
    }

    /// What is needed next.
    pub fn progress(&mut self) -> Progress {
        let open = self.open_questions();
        if !open.is_empty() {
            return Progress::Observe(open);
        }
        if self.referred.is_none() {
            let case = self.case();
            let referred = referral::refer(&case, pipeline::decide(&case));
            self.referred = Some(referred);
        }
        match &self.referred {
            Some(Referred { decision, to: Referral::Nobody }) => Progress::Done(decision.clone()),
            Some(Referred { to: Referral::Abort(aborted), .. }) => Progress::Abort(aborted.clone()),
            Some(Referred { to, .. }) => Progress::Refer(to.clone()),
            None => Progress::Refer(Referral::Person),
        }
    }

    fn open_questions(&self) -> Vec<Question> {
        let questions = self.inspection.questions.iter();
        questions.filter(|question| self.facts.answer(question).is_none()).cloned().collect()
    }

    fn case(&self) -> Case<'_> {
        Case {
            call: &self.call,
            policy: &self.policy,
            session: &self.session,
            inspection: &self.inspection,
            hook: self.hook.as_ref(),
        }
    }

    /// Brings facts. What was asked and is not answered, or is asked after the last round, is unknown.
    pub fn observe(&mut self, answers: impl IntoIterator<Item = (Question, Observed)>) {
        let asked = self.open_questions();
        for (question, answer) in answers {
            self.facts.insert(question, answer);
        }
        for question in asked {
            if self.facts.answer(&question).is_none() {
                self.facts.insert(question, Observed::Unknown);
            }
        }
        self.rounds += 1;
        self.inspect();
        if self.rounds >= ROUNDS && !self.inspection.questions.is_empty() {
            self.facts.close();
            self.inspect();
        }
    }

    fn inspect(&mut self) {
        self.inspection = inspect::inspect(&self.call, &self.policy, &self.session, &self.facts);
    }

    /// Brings an answer. A hook's changed input is decided again from the top; a second change is refused.
    pub fn answer(&mut self, answer: Answer) {
        let Some(referred) = self.referred.take() else { return };
        if let Answer::Hooks(Some(said)) = &answer
            && let (Verdict::Allow, Some(changed)) = (said.verdict, &said.changed)
        {
            return self.take_changed(referred, changed.clone(), said.message.clone());
        }
        self.referred = Some(referral::conclude(&self.case(), referred, answer));
    }

    fn take_changed(&mut self, referred: Referred, changed: Call, message: String) {
        if self.changed {
            let problem = "a hook changed the input a second time".to_owned();
            let reason = Reason::BadInput { problem };
            self.referred = Some(referral::settle(referred.decision, Step::RequestHooks, Verdict::Deny, reason));
            return;
        }
        self.changed = true;
        self.call = changed;
        self.rounds = 0;
        // The hook has already said yes to this input: that answers silence, and nothing above the line.
        self.hook = Some(Said { verdict: Verdict::Allow, message });
        self.inspect();
    }

    /// The decision as it stands, also while somebody must still answer it: then it is an ask.
    pub fn standing(&self) -> Option<&Decision> {
        self.referred.as_ref().map(|referred| &referred.decision)
    }

    /// The call, its reading and the decision as it stands, taken apart once nothing more is brought.
    pub fn into_parts(self) -> (Call, Inspection, Option<Decision>) {
        (self.call, self.inspection, self.referred.map(|referred| referred.decision))
    }
}
