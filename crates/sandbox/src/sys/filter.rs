//! The filter of system calls, as a program for the kernel. Pure: a list of refusals in, instructions out.
//!
//! Every path through the program ends in an answer, and a call that comes in another architecture's numbering is
//! never looked up in ours.

use super::calls::{REFUSED, Refused, Uses, Voice, WATCHED, WRITING, When};
use super::raw::Listen;
use crate::plan::{Nesting, Plan, Sockets};

/// Where the kernel puts what a program looks at: the number, the architecture, the arguments.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const AT_LEAST: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
const ANY_BIT: u16 = (libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K) as u16;
const KEEP: u16 = (libc::BPF_ALU | libc::BPF_AND | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;

/// This machine's numbering, as the kernel names it.
#[cfg(target_arch = "x86_64")]
const OURS: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const OURS: u32 = 0xc000_00b7;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const OURS: u32 = 0;

/// Numbers from here on belong to the second numbering that x86-64 has under the same name.
const SECOND_NUMBERING: u32 = 0x4000_0000;

/// Whether there is a filter for this machine.
pub(crate) const SUPPORTED: bool = OURS != 0;

/// Whether connections to the Internet are possible at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Internet {
    /// A network namespace holds them.
    Elsewhere,
    /// Nothing else holds them, so the filter does.
    Refused,
}

/// The filter for a plan.
pub(crate) fn program(plan: &Plan, internet: Internet, listen: Listen) -> Vec<libc::sock_filter> {
    let mut program = vec![
        load(ARCHITECTURE),
        jump(EQUAL, OURS, 1, 0),
        answer(errno(libc::ENOSYS)),
        load(NUMBER),
        jump(AT_LEAST, SECOND_NUMBERING, 0, 1),
        answer(errno(libc::ENOSYS)),
    ];
    dispatch(&rules(plan, internet, listen), &mut program);
    program
}

/// What is done with one call.
struct Rule {
    number: u32,
    block: Vec<libc::sock_filter>,
}

/// All rules, in the order of their numbers. Those for one call keep their order.
fn rules(plan: &Plan, internet: Internet, listen: Listen) -> Vec<Rule> {
    let mut rules = Vec::new();
    if internet == Internet::Refused {
        rules.push(guarded(libc::SYS_socket, argument(0, &[(EQUAL, 2), (EQUAL, 10)], errno(libc::EACCES))));
    }
    if listen == Listen::Yes {
        rules.extend(WATCHED.iter().map(|watched| {
            let body = match watched.writes {
                Some(place) => argument(place, &[(ANY_BIT, WRITING)], libc::SECCOMP_RET_USER_NOTIF),
                None => vec![answer(libc::SECCOMP_RET_USER_NOTIF)],
            };
            guarded(watched.number, body)
        }));
    }
    rules.extend(REFUSED.iter().filter(|refused| applies(refused, plan)).map(|refused| refusal(refused, listen)));
    rules.sort_by_key(|rule| rule.number);
    rules
}

/// As many rules as are tried one after another. The kernel runs the program once for every call that there is when it is
/// set up, so that a long way through it is paid for hundreds of times at every start.
const SECTION: usize = 8;
/// As far as a jump leads.
const FAR: usize = 200;

/// Rules in the order of their numbers, in sections: whoever is beyond one goes past all of it.
fn dispatch(rules: &[Rule], program: &mut Vec<libc::sock_filter>) {
    let mut left = rules;
    while let [first, ..] = left {
        let mut length = 0;
        let mut number = first.number;
        let section = left.iter().enumerate().take_while(|(place, rule)| {
            let is_full = *place >= SECTION || length > FAR;
            length += rule.block.len();
            let goes_on = rule.number == std::mem::replace(&mut number, rule.number);
            goes_on || !is_full
        });
        let (section, rest) = left.split_at(section.count());
        let alike = section.chunk_by(|one, next| one.refusal().is_some() && one.refusal() == next.refusal());
        let body = alike.flat_map(together).chain([answer(ALLOW)]);
        let body: Vec<libc::sock_filter> = body.collect();
        if let [next, ..] = rest {
            program.push(jump(AT_LEAST, next.number, u8::try_from(body.len()).unwrap_or(u8::MAX), 0));
        }
        program.extend(body);
        left = rest;
    }
    program.push(answer(ALLOW));
}

impl Rule {
    /// The answer, where it does not depend on arguments.
    fn refusal(&self) -> Option<u32> {
        match self.block.as_slice() {
            [_, answer] => Some(answer.k),
            _ => None,
        }
    }
}

/// Rules with one answer, which is there once. Numbers that follow each other are one test. The kernel translates the
/// program at every start, and takes as long as it is.
fn together(rules: &[Rule]) -> Vec<libc::sock_filter> {
    let [first, _, ..] = rules else { return rules.iter().flat_map(|rule| &rule.block).copied().collect() };
    let runs: Vec<(u32, u32)> = rules
        .chunk_by(|one, next| one.number.checked_add(1) == Some(next.number))
        .filter_map(|run| Some((run.first()?.number, run.last()?.number)))
        .collect();
    let tests: usize = runs.iter().map(|(from, to)| if from == to { 1 } else { 2 }).sum();
    let mut program = Vec::with_capacity(tests + 1);
    // The answer is behind the last test, and other calls go past it.
    let to_answer = |at: usize| u8::try_from(tests - at - 1).unwrap_or(u8::MAX);
    let past = |at: usize| u8::try_from(tests - at).unwrap_or(u8::MAX);
    for (from, to) in runs {
        let at = program.len();
        if from == to {
            let is_last = at + 1 == tests;
            program.push(jump(EQUAL, from, to_answer(at), u8::from(is_last)));
        } else {
            // Whoever is below this one is below those that follow.
            program.push(jump(AT_LEAST, from, 0, past(at)));
            let is_last = at + 2 == tests;
            program.push(jump(AT_LEAST, to.saturating_add(1), u8::from(is_last), to_answer(at + 1)));
        }
    }
    program.extend(first.refusal().map(answer));
    program
}

/// Whether a call is refused under a plan.
pub(crate) fn applies(refused: &Refused, plan: &Plan) -> bool {
    match refused.when {
        When::Always => true,
        When::NotNested => plan.nesting == Nesting::Refused,
        When::NoSockets => plan.sockets == Sockets::None,
    }
}

/// An instruction as the kernel reads it from a file.
pub(crate) fn bytes(instruction: &libc::sock_filter) -> [u8; 8] {
    let [a, b] = instruction.code.to_ne_bytes();
    let [c, d, e, f] = instruction.k.to_ne_bytes();
    [a, b, instruction.jt, instruction.jf, c, d, e, f]
}

fn refusal(refused: &Refused, listen: Listen) -> Rule {
    let no = match (refused.voice, listen) {
        (Voice::Told, Listen::Yes) => libc::SECCOMP_RET_USER_NOTIF,
        (Voice::Told | Voice::Quiet, _) => errno(refused.error),
    };
    let body = match refused.uses {
        Uses::All => vec![answer(no)],
        Uses::Bits(place, bits) => argument(place, &[(ANY_BIT, bits)], no),
        Uses::Is(place, values) => {
            let tests: Vec<_> = values.iter().map(|value| (EQUAL, *value)).collect();
            argument(place, &tests, no)
        }
        Uses::IsMasked(place, mask, values) => {
            let tests: Vec<_> = values.iter().map(|value| (EQUAL, *value)).collect();
            let mut body = argument(place, &tests, no);
            body.insert(1, libc::sock_filter { code: KEEP, jt: 0, jf: 0, k: mask });
            body
        }
        Uses::IsNot(place, values) => excluding(place, values, no),
    };
    guarded(refused.number, body)
}

/// `body` for one call; every other goes past it with its number still loaded.
fn guarded(number: i64, body: Vec<libc::sock_filter>) -> Rule {
    let past = u8::try_from(body.len()).unwrap_or(u8::MAX);
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    let mut block = body;
    block.insert(0, jump(EQUAL, number, 0, past));
    Rule { number, block }
}

/// `no` where one of the tests holds; otherwise the next rule speaks.
fn argument(place: u8, tests: &[(u16, u32)], no: u32) -> Vec<libc::sock_filter> {
    let mut body = loaded(place);
    for (test, value) in tests {
        body.push(jump(*test, *value, 0, 1));
        body.push(answer(no));
    }
    body.push(load(NUMBER));
    body
}

/// `no` unless the argument is one of the values; otherwise the next rule speaks.
fn excluding(place: u8, values: &[u32], no: u32) -> Vec<libc::sock_filter> {
    let mut body = loaded(place);
    for (tried, value) in values.iter().enumerate() {
        // Past the values that are left, and past the refusal.
        let past = u8::try_from(values.len() - tried).unwrap_or(u8::MAX);
        body.push(jump(EQUAL, *value, past, 0));
    }
    body.push(answer(no));
    body.push(load(NUMBER));
    body
}

/// The lower half of an argument.
fn loaded(place: u8) -> Vec<libc::sock_filter> {
    let low = if cfg!(target_endian = "little") { 0 } else { 4 };
    vec![load(ARGUMENTS + 8 * u32::from(place) + low)]
}

fn load(place: u32) -> libc::sock_filter {
    libc::sock_filter { code: LOAD, jt: 0, jf: 0, k: place }
}

fn jump(test: u16, value: u32, holds: u8, fails: u8) -> libc::sock_filter {
    libc::sock_filter { code: test, jt: holds, jf: fails, k: value }
}

fn answer(what: u32) -> libc::sock_filter {
    libc::sock_filter { code: RETURN, jt: 0, jf: 0, k: what }
}

fn errno(error: i32) -> u32 {
    libc::SECCOMP_RET_ERRNO | error.cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Environment, Files, Limits, Network};

    fn plan(sockets: Sockets, nesting: Nesting) -> Plan {
        Plan {
            directory: "/".into(),
            files: Files::Open,
            network: Network::None,
            sockets,
            environment: Environment::default(),
            limits: Limits::default(),
            nesting,
            gaps: Vec::new(),
        }
    }

    /// What the kernel would answer, by the instructions that are used.
    fn run(program: &[libc::sock_filter], architecture: u32, number: u32, arguments: [u64; 6]) -> u32 {
        let mut loaded = 0;
        let mut at = 0;
        loop {
            let step = program[at];
            at += 1;
            let holds = match step.code {
                LOAD => {
                    loaded = match step.k {
                        NUMBER => number,
                        ARCHITECTURE => architecture,
                        place => arguments[(place - ARGUMENTS) as usize / 8] as u32,
                    };
                    continue;
                }
                KEEP => {
                    loaded &= step.k;
                    continue;
                }
                RETURN => return step.k,
                EQUAL => loaded == step.k,
                AT_LEAST => loaded >= step.k,
                ANY_BIT => loaded & step.k != 0,
                other => panic!("{other}"),
            };
            at += usize::from(if holds { step.jt } else { step.jf });
        }
    }

    #[test]
    fn a_filter_answers_by_number_argument_and_plan() {
        let closed = program(&plan(Sockets::None, Nesting::Refused), Internet::Elsewhere, Listen::No);
        let open = program(&plan(Sockets::All, Nesting::Possible), Internet::Elsewhere, Listen::No);
        let offline = program(&plan(Sockets::None, Nesting::Refused), Internet::Refused, Listen::No);
        let (eperm, enosys, family) = (errno(libc::EPERM), errno(libc::ENOSYS), errno(libc::EAFNOSUPPORT));
        let high = 0x7_0000_0000;
        for (name, program, number, first, second, wanted) in [
            ("read", &closed, libc::SYS_read, 0, 0, ALLOW),
            ("ptrace", &closed, libc::SYS_ptrace, 0, 0, eperm),
            ("ptrace inside", &open, libc::SYS_ptrace, 0, 0, eperm),
            ("mount", &closed, libc::SYS_mount, 0, 0, eperm),
            ("mount inside", &open, libc::SYS_mount, 0, 0, ALLOW),
            ("clone3", &closed, libc::SYS_clone3, 0, 0, enosys),
            ("clone for a thread", &closed, libc::SYS_clone, 0x3d_0f00, 0, ALLOW),
            ("clone for a user", &closed, libc::SYS_clone, 0x1000_0011, 0, eperm),
            ("unshare files", &closed, libc::SYS_unshare, 0x400, 0, ALLOW),
            ("unshare time", &closed, libc::SYS_unshare, 0x80, 0, eperm),
            ("a window's size", &closed, libc::SYS_ioctl, 0, 0x5413, ALLOW),
            ("typing", &closed, libc::SYS_ioctl, 0, 0x5412, eperm),
            ("typing, with high bits", &closed, libc::SYS_ioctl, 0, 0x5412 | high, eperm),
            ("a stream", &closed, libc::SYS_socket, 2, 0x8_0801, ALLOW),
            ("raw", &closed, libc::SYS_socket, 2, 0x8_0003, eperm),
            ("a Unix socket", &closed, libc::SYS_socket, 1, 1, eperm),
            ("a Unix socket, with high bits", &closed, libc::SYS_socket, 1 | high, 1, eperm),
            ("a Unix socket inside", &open, libc::SYS_socket, 1, 1, ALLOW),
            ("packets", &open, libc::SYS_socket, 17, 3, family),
            ("a pair", &closed, libc::SYS_socketpair, 1, 0x8_0001, ALLOW),
            ("a pair of datagrams", &closed, libc::SYS_socketpair, 1, 0x8_0002, eperm),
            ("a stream offline", &offline, libc::SYS_socket, 10, 1, errno(libc::EACCES)),
            ("a plain personality", &closed, libc::SYS_personality, 0xffff_ffff, 0, ALLOW),
            ("another personality", &closed, libc::SYS_personality, 0x40_0000, 0, eperm),
            ("the second numbering", &closed, 0x4000_0000 | libc::SYS_getpid, 0, 0, enosys),
        ] {
            let number = u32::try_from(number).unwrap();
            assert_eq!(run(program, OURS, number, [first, second, 0, 0, 0, 0]), wanted, "{name}");
        }
        assert_eq!(run(&closed, OURS ^ 1, libc::SYS_read as u32, [0; 6]), enosys, "another architecture");
    }

    #[test]
    fn sections_answer_as_one_rule_after_another_would() {
        for (sockets, nesting, internet, listen) in [
            (Sockets::None, Nesting::Refused, Internet::Elsewhere, Listen::Yes),
            (Sockets::None, Nesting::Refused, Internet::Refused, Listen::No),
            (Sockets::All, Nesting::Possible, Internet::Elsewhere, Listen::No),
        ] {
            let plan = plan(sockets, nesting);
            let rules = rules(&plan, internet, listen);
            let blocks = rules.iter().flat_map(|rule| &rule.block).copied();
            let mut plain = vec![load(NUMBER)];
            plain.extend(blocks.chain([answer(ALLOW)]));
            let program = program(&plan, internet, listen);
            for number in 0..700 {
                for argument in [0, 1, 2, 3, 10, 17, 0x5412, 0x1000_0011, 0x8_0003, 0o1101, u64::MAX] {
                    let arguments = [argument; 6];
                    let wanted = run(&plain, OURS, number, arguments);
                    assert_eq!(run(&program, OURS, number, arguments), wanted, "{number} {argument:#x}");
                }
            }
        }
    }

    #[test]
    fn a_telling_filter_watches_only_writes() {
        let telling = program(&plan(Sockets::None, Nesting::Refused), Internet::Elsewhere, Listen::Yes);
        let openat = libc::SYS_openat as u32;
        for (flags, wanted) in [
            (libc::O_RDONLY | libc::O_CLOEXEC, ALLOW),
            (libc::O_WRONLY, libc::SECCOMP_RET_USER_NOTIF),
            (libc::O_RDWR | libc::O_CREAT, libc::SECCOMP_RET_USER_NOTIF),
        ] {
            assert_eq!(run(&telling, OURS, openat, [0, 0, flags as u64, 0, 0, 0]), wanted, "{flags:o}");
        }
        assert!(telling.len() < 180, "{}: every start pays for each", telling.len());
    }
}
