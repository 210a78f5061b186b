//! The laws of the specification, page 01. Each test has the name of its law.

#![expect(clippy::expect_used, clippy::panic, reason = "a test may stop where it is wrong about itself")]

mod world;

use mayi_core::evaluation::Evaluation;
use mayi_core::inspect::Inspection;
use mayi_core::lineage::{self, Inheritance};
use mayi_core::mode::Mode;
use mayi_core::pipeline::{self, Case};
use mayi_core::policy::{Layer, Options, Policy};
use mayi_core::reason::Reason;
use mayi_core::referral::{self, Answer, PersonAnswer, Referral};
use mayi_core::session::{Aborted, Attendance, Session};
use mayi_core::step::Step;
use mayi_core::trace::{Finding, Note};
use mayi_core::verdict::{Decision, Verdict};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use world::{End, Listed, Script, World, any_layer, any_mode, any_rule_of, any_rules, any_session, any_world, calls};

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1_000,
        max_global_rejects: 20_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// If any layer's deny rule matches, the verdict is deny, whatever else is set.
    #[test]
    fn deny_always_wins(world in any_world(), layer in any_layer(), which in any::<Index>(), rule in any::<Index>()) {
        let calls = calls();
        let known = which.get(&calls);
        let text: &&str = rule.get(known.matched_by);
        let deny = Listed { layer, list: Verdict::Deny, text };
        // A changed call is another call; whether the rule is about that one is not known here.
        let script = Script { hooks: Vec::new(), ..world.script.clone() };
        let end = World { call: known.call(), script, ..world }.with_rule(deny.clone()).end();
        prop_assert_eq!(end.verdict(), Verdict::Deny, "{:?}\n{}", deny, end.decision.trace);
    }

    /// What is found above the line, no mode, classifier, allow rule or hook's allow turns into an allow.
    #[test]
    fn the_line_holds(world in any_world(), allows in prop::collection::vec(any_rule_of(Verdict::Allow), 0..6)) {
        // The same host: where it can confine, a tool-wide ask may be answered by that (1b itself says so).
        let session = Session { mode: Mode::Default, attendance: Attendance::Attended, ..world.session.clone() };
        let plain = World { session, hook: None, script: Script::eager_classifier(), ..world.clone() };
        let found = plain.end().decision;
        prop_assume!(found.step.is_above_the_line());
        let mut pushed = World { hook: Some(Verdict::Allow), script: Script::eager_classifier(), ..world };
        pushed.rules.extend(allows);
        let end = pushed.end();
        prop_assert!(end.verdict() != Verdict::Allow, "{} settled it, and then:\n{}", found.step, end.decision.trace);
    }

    #[test]
    fn dont_ask_never_asks(world in any_world(), session in any_session()) {
        let end = World { session: Session { mode: Mode::DontAsk, ..session }, ..world }.end();
        prop_assert!(!end.asked_person && end.verdict() != Verdict::Ask, "{}", end.decision.trace);
    }

    #[test]
    fn unattended_never_asks(world in any_world(), session in any_session()) {
        let end = World { session: Session { attendance: Attendance::Unattended, ..session }, ..world }.end();
        prop_assert!(!end.asked_person && end.verdict() != Verdict::Ask, "{}", end.decision.trace);
    }

    #[test]
    fn rule_order_is_irrelevant((world, order) in any_world().prop_flat_map(|world| {
        let order = Just(world.rules.clone()).prop_shuffle();
        (Just(world), order)
    })) {
        let one = world.end();
        let other = World { rules: order, ..world }.end();
        prop_assert_eq!(gist(&one), gist(&other), "\n{}{}", one.decision.trace, other.decision.trace);
    }

    #[test]
    fn adding_a_deny_never_allows_more(world in any_world(), deny in any_rule_of(Verdict::Deny)) {
        let world = without_people(world);
        let (before, after) = (world.end(), world.with_rule(deny).end());
        prop_assert!(never_wider(&before, &after), "\n{}{}", before.decision.trace, after.decision.trace);
    }

    #[test]
    fn removing_an_allow_never_allows_more(world in any_world(), allow in any_rule_of(Verdict::Allow)) {
        let world = without_people(world);
        let (before, after) = (world.with_rule(allow).end(), world.end());
        prop_assert!(never_wider(&before, &after), "\n{}{}", before.decision.trace, after.decision.trace);
    }

    /// Every rule of the organisation is still there, still counts as it did, and still stops what it stopped alone.
    #[test]
    fn managed_rules_survive_merge(world in any_world(), managed in any_rules()) {
        let managed: Vec<_> = managed.into_iter().map(|rule| Listed { layer: Layer::Managed, ..rule }).collect();
        let alone = World { rules: managed.clone(), ..without_people(world.clone()) };
        let mut merged = without_people(world);
        merged.rules.retain(|rule| rule.layer != Layer::Managed);
        merged.rules.extend(managed);
        let kept: Vec<_> = merged.policy().entries().iter().filter(|e| e.origin.layer == Layer::Managed).cloned().collect();
        prop_assert_eq!(kept, alone.policy().entries().to_vec());
        let (alone, merged) = (alone.end(), merged.end());
        if alone.decision.step.is_above_the_line() {
            prop_assert!(merged.verdict() != Verdict::Allow, "\n{}{}", alone.decision.trace, merged.decision.trace);
        }
        if alone.decision.step.is_above_the_line() && alone.verdict() == Verdict::Deny {
            prop_assert_eq!(merged.verdict(), Verdict::Deny);
        }
    }

    /// Along the whole chain, root first: nobody is permitted more than anybody above.
    #[test]
    fn a_child_never_exceeds_its_lead(
        call in world::any_call(),
        chain in prop::collection::vec((any_world(), select(INHERITANCES.to_vec())), 2..5),
    ) {
        let mut leads: Vec<Decision> = Vec::new();
        for (world, inheritance) in chain {
            let own = World { call: call.clone(), ..world }.end().decision;
            let bound = match leads.last() {
                Some(lead) => lineage::bind(own.clone(), ("lead", lead), inheritance),
                None => own.clone(),
            };
            for lead in &leads {
                prop_assert!(bound.verdict >= lead.verdict, "{:?} under {:?}", bound.verdict, lead.verdict);
            }
            let vouched = inheritance == Inheritance::Allow && own.verdict == Verdict::Ask;
            prop_assert!(bound.verdict >= own.verdict || vouched);
            prop_assert!(ends_in_its_step(&bound), "{} by {}\n{}", bound.verdict, bound.step, bound.trace);
            leads.push(bound);
        }
    }

    /// An allow that would not have been given without the sandbox comes with a permit that says so.
    #[test]
    fn confinement_is_never_dropped(setting in any_setting(), mode in any_mode(), reply in select(Verdict::ALL.to_vec())) {
        let confined = setting.conclude(mode, Inspection { confined: true, ..setting.inspection.clone() }, reply);
        let unconfined = setting.conclude(mode, Inspection { confined: false, ..setting.inspection.clone() }, reply);
        let call = mayi_core::call::Call::shell("make");
        let Some(permit) = confined.permit(call.clone()) else { return Ok(()) };
        let spared = confined.trace.finding(Step::AskRules) == Some(&Finding::Pass(Note::ConfinedInstead));
        if spared || confined.reason == Reason::Confined || unconfined.verdict != Verdict::Allow {
            prop_assert!(permit.terms().confined, "\n{}", confined.trace);
        }
        prop_assert!(!unconfined.permit(call).is_some_and(|permit| permit.terms().confined));
        for inheritance in INHERITANCES {
            let child = lineage::bind(confined.clone(), ("lead", &unconfined), inheritance);
            let grandchild = lineage::bind(unconfined.clone(), ("lead", &confined), inheritance);
            for bound in [child, grandchild] {
                prop_assert!(bound.verdict != Verdict::Allow || bound.terms.confined || !confined.terms.confined);
            }
        }
    }

    #[test]
    fn every_decision_ends_in_the_step_that_settled_it(world in any_world()) {
        let End { decision, aborted, .. } = world.end();
        let Decision { verdict, step, trace, .. } = &decision;
        prop_assert!(ends_in_its_step(&decision), "{verdict} by {step}\n{trace}");
        prop_assert!(!aborted || *verdict == Verdict::Deny, "a run ended on {verdict}\n{trace}");
    }

    /// Step 0.
    #[test]
    fn an_aborted_session_decides_nothing(world in any_world()) {
        let session = Session { aborted: Some(Aborted::Stopped), ..world.session.clone() };
        let begun = Evaluation::begin(world.call.clone(), world.policy(), session);
        prop_assert_eq!(begun.err(), Some(Aborted::Stopped));
    }
}

const INHERITANCES: [Inheritance; 3] = [Inheritance::Ask, Inheritance::Bubble, Inheritance::Allow];

/// With no rule, in default mode, a call that changes something asks.
#[test]
fn silence_asks() {
    let changing: Vec<_> = calls().into_iter().filter(|known| known.changes).collect();
    assert!(changing.len() > 10);
    for known in changing {
        let world = World {
            rules: Vec::new(),
            options: Options::default(),
            session: Session::default(),
            call: known.call(),
            hook: None,
            script: Script::eager_classifier(),
        };
        let end = world.end();
        assert_eq!(end.verdict(), Verdict::Ask, "{:?}\n{}", world.call, end.decision.trace);
        assert!(end.asked_person);
    }
}

/// What two ends must share to be the same: everything but which of several equal rules is named.
fn gist(end: &End) -> (Verdict, Step, bool, bool, bool) {
    let Decision { verdict, step, terms, .. } = &end.decision;
    (*verdict, *step, terms.confined, end.asked_person, end.aborted)
}

/// The laws about rules speak of what happens by itself: a person who is asked more often also says yes more often.
fn without_people(world: World) -> World {
    let script = Script { hooks: Vec::new(), person: None, ..world.script };
    World { script, ..world }
}

fn never_wider(before: &End, after: &End) -> bool {
    after.verdict() != Verdict::Allow || before.verdict() == Verdict::Allow
}

/// The last line of the trace settles the verdict in the decision's step. While a person has yet to answer, the last
/// line is the question to them, and the decision's step is the one that had them asked.
fn ends_in_its_step(decision: &Decision) -> bool {
    let Some((last, Finding::Settle(verdict, _))) = decision.trace.lines().last() else { return false };
    match decision.verdict {
        Verdict::Ask => {
            let asker = decision.trace.finding(decision.step);
            *last == Step::Human && *verdict == Verdict::Ask && matches!(asker, Some(Finding::Settle(..)))
        }
        Verdict::Allow | Verdict::Deny => *last == decision.step && *verdict == decision.verdict,
    }
}

/// A shell call whose inspection is given, so that every way to confinement is taken.
#[derive(Clone, Debug)]
struct Setting {
    world: World,
    inspection: Inspection,
}

fn any_setting() -> impl Strategy<Value = Setting> {
    (any_world(), any::<[bool; 4]>()).prop_map(|(mut world, [ask, guarded, allow, accept])| {
        world.options.sandbox.enabled = true;
        let inspection = Inspection {
            ask: ask.then(Reason::silence),
            guarded: guarded.then_some(Reason::NeedsPerson),
            allow: allow.then_some(Reason::ReadOnly),
            accept_edits: accept.then_some(Reason::AcceptedEdit),
            ..Inspection::default()
        };
        Setting { world, inspection }
    })
}

impl Setting {
    /// The decision after everybody who is asked has given the same answer.
    fn conclude(&self, mode: Mode, inspection: Inspection, reply: Verdict) -> Decision {
        let policy: std::sync::Arc<Policy> = self.world.policy();
        let session = Session { mode, attendance: Attendance::Attended, ..self.world.session.clone() };
        let call = mayi_core::call::Call::shell("make");
        let said = self.world.hook.map(|verdict| pipeline::Said { verdict, message: String::new() });
        let case =
            Case { call: &call, policy: &policy, session: &session, inspection: &inspection, hook: said.as_ref() };
        let mut referred = referral::refer(&case, pipeline::decide(&case));
        loop {
            let answer = match &referred.to {
                Referral::Nobody | Referral::Abort(_) => return referred.decision,
                Referral::Classifier => Answer::Classifier(self.world.script.classifier.clone()),
                Referral::Hooks => Answer::Hooks(None),
                Referral::Person => Answer::Person(PersonAnswer { verdict: reply, comment: None }),
            };
            referred = referral::conclude(&case, referred, answer);
        }
    }
}
