//! The plan, vector by vector: what settings, rules and a permit open, close and hide.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod derive;
mod files;
mod hosts;
mod laws;
mod locks;
mod protected;
mod shown;

use std::path::Path;

use mayi_core::call::{Call, Workspace};
use mayi_core::policy::Layer;
use mayi_core::reason::Reason;
use mayi_core::step::Step;
use mayi_core::trace::Trace;
use mayi_core::verdict::{Decision, Permit, Terms, Verdict};
use mayi_sandbox::plan::{Access, Confined, Files, Plan, Wanted};
use mayi_settings::update::SessionPermissions;
use mayi_settings::{Given, Loaded, Trust, of_values};
use serde_json::Value;

/// A person's machine: home is `/home/u`, the command runs in `/home/u/p`.
struct World {
    directory: &'static str,
    layers: Vec<(Layer, Value)>,
    command: &'static str,
    terms: Terms,
    session: SessionPermissions,
}

const TEMPORARY: &str = "/tmp/own";

impl World {
    fn new(layers: &[(Layer, Value)]) -> Self {
        Self {
            directory: "/home/u/p",
            layers: layers.to_vec(),
            command: "frob",
            terms: because_confined(),
            session: SessionPermissions::default(),
        }
    }

    fn user(settings: Value) -> Self {
        Self::new(&[(Layer::User, settings)])
    }

    fn at(mut self, directory: &'static str) -> Self {
        self.directory = directory;
        self
    }

    fn running(mut self, command: &'static str) -> Self {
        self.command = command;
        self
    }

    /// Allowed by a person or a rule, not because of the sandbox.
    fn agreed(mut self) -> Self {
        self.terms = Terms::default();
        self
    }

    fn loaded(&self) -> Loaded {
        let layers: Vec<(Layer, &Value)> = self.layers.iter().map(|(layer, value)| (*layer, value)).collect();
        let given = Given { trust: Trust::Trusted, ..Given::default() };
        of_values(&layers, &Workspace::at(self.directory).with_home("/home/u"), &given)
    }

    fn plan(&self) -> Plan {
        let permit = permit(self.command, self.terms);
        let wanted =
            Wanted { loaded: &self.loaded(), session: &self.session, permit: &permit, temporary: Path::new(TEMPORARY) };
        Plan::of(wanted)
    }

    fn confined(&self) -> Confined {
        confined(&self.plan()).clone()
    }

    /// Which of these the plan lets be read, and written.
    #[track_caller]
    fn check(&self, expected: &[(&str, Access)]) {
        let plan = self.plan();
        for (path, access) in expected {
            assert_eq!(
                confined(&plan).access_of(Path::new(path)),
                *access,
                "{path} under {:?}\n{plan:#?}",
                self.layers
            );
        }
    }

    fn gaps(&self) -> Vec<String> {
        self.plan().gaps.into_iter().map(|gap| gap.what).collect()
    }

    /// The one gap there is.
    #[track_caller]
    fn gap(&self) -> String {
        let mut gaps = self.gaps();
        assert_eq!(gaps.len(), 1, "{gaps:?}");
        gaps.remove(0)
    }
}

/// Terms of what was allowed because it will run confined.
#[allow(clippy::needless_update, reason = "whatever else terms say makes no difference here")]
fn because_confined() -> Terms {
    Terms { confined: true, ..Terms::default() }
}

fn permit(command: &str, terms: Terms) -> Permit {
    let decision = Decision {
        verdict: Verdict::Allow,
        step: Step::AllowRules,
        reason: Reason::Confined,
        terms,
        trace: Trace::default(),
    };
    decision.permit(Call::shell(command)).unwrap()
}

fn confined(plan: &Plan) -> &Confined {
    match &plan.files {
        Files::Confined(confined) => confined,
        Files::Open => panic!("files are not confined"),
    }
}

fn place(confined: &Confined, path: &str) -> Option<Access> {
    confined.places.iter().find(|place| place.path == Path::new(path)).map(|place| place.access)
}
