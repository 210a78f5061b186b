//! How long lint takes: ten thousand rules of several shapes, and patterns made to explode. `cargo xtask bench lint`.

#![allow(clippy::print_stdout, reason = "its answer is what it prints")]

use std::time::Duration;

use mayi_analysis::lint::lint;
use mayi_core::call::Workspace;
use mayi_core::policy::Layer;
use mayi_settings::{Code, Given, Loaded, of_values};
use serde_json::{Value, json};

const RULES: usize = 10_000;
const TIMES: usize = 3;

fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    println!("| rules | CPU time, median of {TIMES} | findings | undecided |\n| --- | --- | --- | --- |");
    for (name, settings) in cases().into_iter().filter(|(name, _)| name.contains(&wanted)) {
        let loaded = loaded(&settings);
        let mut times: Vec<Duration> = Vec::new();
        let mut found = Vec::new();
        for _ in 0..TIMES {
            let before = cpu_time();
            found = lint(&loaded);
            times.push(cpu_time().saturating_sub(before));
        }
        times.sort();
        let median = times.get(TIMES / 2).copied().unwrap_or_default();
        let undecided = found.iter().filter(|problem| problem.code == Code::Undecided).count();
        println!("| {name} | {:.0} ms | {} | {undecided} |", median.as_secs_f64() * 1000.0, found.len());
    }
}

/// What this thread has worked so far, so that others on the machine do not count.
fn cpu_time() -> Duration {
    let spent = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = spent.split(' ').next().and_then(|word| word.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or_default())
}

fn loaded(settings: &Value) -> Loaded {
    of_values(&[(Layer::User, settings)], &Workspace::at("/w").with_home("/home/u"), &Given::default())
}

fn half(rule: impl Fn(usize) -> String) -> Vec<String> {
    (0..RULES / 2).map(rule).collect()
}

fn settings(allow: Vec<String>, deny: Vec<String>) -> Value {
    json!({"permissions": {"allow": allow, "deny": deny}})
}

fn both(allow: impl Fn(usize) -> String, deny: impl Fn(usize) -> String) -> Value {
    settings(half(allow), half(deny))
}

fn few(rule: impl Fn(usize) -> String) -> Vec<String> {
    (0..200).map(rule).collect()
}

fn cases() -> Vec<(&'static str, Value)> {
    [plain_cases(), folder_cases(), negation_cases(), exploding_cases()].concat()
}

/// As people write them, only more of them.
fn plain_cases() -> Vec<(&'static str, Value)> {
    let command = |word: &'static str| move |n: usize| format!("Bash({word}-{} run-{n}:*)", n % 300);
    let glob = |word: &'static str| move |n: usize| format!("Bash({word}-{} * --flag-{n} *)", n % 300);
    let within = |word: &'static str| move |n: usize| format!("Bash(*{word}{n} *)");
    let path = |word: &'static str| move |n: usize| format!("Read(//srv/{word}-{}/**/file-{n}.*)", n % 300);
    let host = |word: &'static str| move |n: usize| format!("WebFetch(domain:*.{word}-{n}.org)");
    let label = |word: &'static str| move |n: usize| format!("WebFetch(domain:*{word}{n}*.*.org)");
    let tool = |word: &'static str| move |n: usize| format!("mcp__{word}-{}__tool-{n}", n % 300);
    let deny_all = |n: usize| if n == 0 { "Read(//srv/**)".to_owned() } else { format!("Read(//etc/{n})") };
    vec![
        ("10,000 commands, none covered", both(command("a"), command("d"))),
        ("10,000 commands, half covered", both(command("d"), command("d"))),
        ("10,000 commands with wildcards within", both(glob("a"), glob("a"))),
        ("10,000 commands with wildcards before", both(within("a"), within("d"))),
        ("10,000 paths, none covered", both(path("a"), path("d"))),
        ("10,000 paths, half covered by one rule", both(path("a"), deny_all)),
        ("10,000 paths, half covered one by one", both(path("a"), path("a"))),
        ("10,000 hosts, half covered", both(host("a"), host("a"))),
        ("10,000 hosts with wildcards within labels", both(label("a"), label("d"))),
        ("10,000 tools, half covered", both(tool("a"), tool("a"))),
    ]
}

/// Everything in one folder.
fn folder_cases() -> Vec<(&'static str, Value)> {
    let parts = |n: usize| format!("Read(//srv/a/[{}x]*)", if n.is_multiple_of(2) { "" } else { "!" });
    let letters = |n: usize| format!("{}{}{}", "abcdefgh".split_at(n % 8).0, n % 10, "mnopqrst".split_at(n / 80 % 8).1);
    vec![
        ("one folder: 5,000 names, none covered", {
            both(|n| format!("Read(//srv/a/f{n})"), |n| format!("Read(//srv/a/d{n})"))
        }),
        ("one folder: 5,000 patterns, none covered", {
            both(|n| format!("Read(//srv/a/f{n}*)"), |n| format!("Read(//srv/a/*d{n}*)"))
        }),
        ("one folder: 5,000 patterns, half covered", {
            both(|n| format!("Read(//srv/a/xd{n}x)"), |n| format!("Read(//srv/a/*d{n}x*)"))
        }),
        ("one folder: half covered by two together", both(|n| format!("Read(//srv/a/*/f{n})"), parts)),
        ("one folder: 5,000 brackets", {
            both(
                |n| format!("Read(//srv/a/[{}]/f{n})", letters(n)),
                |n| format!("Read(//srv/a/[{}]/*{n})", letters(n + 7)),
            )
        }),
        ("one folder: 5,000 with one specimen", {
            both(
                |n| format!("Read(//srv/a/[a{}]/f)", letters(n)),
                |n| format!("Read(//srv/a/[a{}]/[f{}])", letters(n), n % 10),
            )
        }),
    ]
}

/// Rules that take back.
fn negation_cases() -> Vec<(&'static str, Value)> {
    let allow = |one: fn(usize) -> String, other: fn(usize) -> String| {
        settings(half(one).into_iter().chain(half(other)).collect(), vec![])
    };
    let turns = |n: usize| {
        if n.is_multiple_of(2) { format!("Read(*.e{})", n / 2) } else { format!("Read(!a.e{})", n / 2) }
    };
    vec![
        ("5,000 negations, each of one rule", {
            allow(|n| format!("Read(//srv/a/f{n}/*)"), |n| format!("Read(!//srv/a/f{n}/x)"))
        }),
        ("5,000 negations, each of 5,000 rules", {
            allow(|n| format!("Read(//srv/**/f{n})"), |n| format!("Read(!//srv/d{n}/x)"))
        }),
        ("5,000 negations that leave nothing", {
            allow(|n| format!("Read(//srv/a{n}/f)"), |n| format!("Read(!//srv/a{n}/[f]/**)"))
        }),
        ("2,500 denies and 2,500 negations in turns", both(|n| format!("Read(*.e{n})"), turns)),
    ]
}

/// Made to be too much work.
fn exploding_cases() -> Vec<(&'static str, Value)> {
    let stars = |word: &'static str| move |n: usize| format!("Bash({}{n}*)", format!("{word}*").repeat(30));
    let deep = |word: &'static str| move |n: usize| format!("Read(//**/{word}?*/**/{}{n}/**)", "*[ab]?".repeat(6));
    let alike = |n: usize| format!("Bash({} {})", "*a".repeat(n % 50 + 1), "b*".repeat(n / 50));
    let any = |n: usize| format!("Read(//{}x{n})", "**/".repeat(1000));
    let long = |n: usize| format!("Read(//{}{n})", "*a".repeat(2000));
    let nested = |n: usize| format!("Read(//{}x{n})", "*a/".repeat(1000));
    vec![
        ("10,000 commands with 30 wildcards each", both(stars("a"), stars("b"))),
        ("10,000 commands that all match each other", both(alike, |n| format!("{} ", alike(n)).replace(" )", "*)"))),
        ("400 paths made to explode", settings(few(deep("a")), few(deep("*")))),
        ("10,000 paths made to explode", both(deep("a"), deep("*"))),
        ("400 paths of a thousand `**`", settings(few(any), few(any))),
        ("400 names of two thousand wildcards", settings(few(long), few(long))),
        ("400 paths of a thousand folders", settings(few(nested), few(nested))),
    ]
}
