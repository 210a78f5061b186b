//! The options of a hook that is installed already. A person chose them, so installing again keeps them, unless they are
//! given anew.

use mayi_core::mode::Mode;

use crate::hook::options;

/// How many words come before the options: the program, `hook`, the agent.
const HEAD: usize = 3;

/// The command with the options that the present one has and it does not name itself. What no hook can be run with is
/// not kept.
pub(super) fn merged(command: &[String], present: &[String]) -> Vec<String> {
    let given = command.get(HEAD..).unwrap_or_default();
    let is_given = |option: &[String]| option.first().is_some_and(|name| given.contains(name));
    let kept = known(present).into_iter().filter(|option| !is_given(option)).flatten();
    command.iter().chain(kept).cloned().collect()
}

/// A command with those of its options alone that can only make its answers stricter.
pub(super) fn tightening(command: &[String]) -> Vec<String> {
    let head = command.get(..HEAD).unwrap_or_default();
    let tightens = |option: &&[String]| match option.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["--unattended"] => true,
        ["--mode", mode] => matches!(mode.parse(), Ok(Mode::Default | Mode::Plan | Mode::DontAsk)),
        _ => false,
    };
    let options = known(command).into_iter().filter(tightens).flatten();
    head.iter().chain(options).cloned().collect()
}

/// The options of a command, each with its value, that a hook can be run with.
pub(super) fn known(command: &[String]) -> Vec<&[String]> {
    let Some(agent) = command.get(HEAD - 1) else { return Vec::new() };
    let can_be_run = |option: &&[String]| {
        let words: Vec<String> = std::iter::once(agent).chain(option.iter()).cloned().collect();
        options::problem(&words).is_none()
    };
    options::parted(command.get(HEAD..).unwrap_or_default()).into_iter().filter(can_be_run).collect()
}
