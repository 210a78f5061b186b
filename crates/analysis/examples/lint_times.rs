//! How long lint takes: ten thousand rules of several shapes, and patterns made to explode. `cargo xtask bench lint`.

#![allow(clippy::print_stdout, reason = "its answer is what it prints")]

use std::time::{Duration, Instant};

use mayi_analysis::lint::lint;
use mayi_core::call::Workspace;
use mayi_core::policy::Layer;
use mayi_settings::{Code, Given, Loaded, of_values};
use serde_json::{Value, json};

const RULES: usize = 10_000;
const TIMES: usize = 5;

fn main() {
    println!("| rules | lint, median of {TIMES} | findings | undecided |\n| --- | --- | --- | --- |");
    for (name, settings) in cases() {
        let loaded = loaded(&settings);
        let mut times: Vec<Duration> = Vec::new();
        let mut found = Vec::new();
        for _ in 0..TIMES {
            let started = Instant::now();
            found = lint(&loaded);
            times.push(started.elapsed());
        }
        times.sort();
        let median = times.get(TIMES / 2).copied().unwrap_or_default();
        let undecided = found.iter().filter(|problem| problem.code == Code::Undecided).count();
        println!("| {name} | {:.0} ms | {} | {undecided} |", median.as_secs_f64() * 1000.0, found.len());
    }
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

fn cases() -> Vec<(&'static str, Value)> {
    let command = |word: &'static str| move |n: usize| format!("Bash({word}-{} run-{n}:*)", n % 300);
    let glob = |word: &'static str| move |n: usize| format!("Bash({word}-{} * --flag-{n} *)", n % 300);
    let path = |word: &'static str| move |n: usize| format!("Read(//srv/{word}-{}/**/file-{n}.*)", n % 300);
    let host = |word: &'static str| move |n: usize| format!("WebFetch(domain:*.{word}-{n}.org)");
    let tool = |word: &'static str| move |n: usize| format!("mcp__{word}-{}__tool-{n}", n % 300);
    let deny_all = |n: usize| if n == 0 { "Read(//srv/**)".to_owned() } else { format!("Read(//etc/{n})") };
    let parts = |n: usize| format!("Read(//srv/a/[{}x]*)", if n.is_multiple_of(2) { "" } else { "!" });
    let stars = |word: &'static str| move |n: usize| format!("Bash({}{n}*)", format!("{word}*").repeat(30));
    let deep = |word: &'static str| move |n: usize| format!("Read(//**/{word}?*/**/{}{n}/**)", "*[ab]?".repeat(6));
    let few = |rules: Vec<String>| rules.into_iter().take(200).collect::<Vec<_>>();
    vec![
        ("10,000 commands, none covered", settings(half(command("a")), half(command("d")))),
        ("10,000 commands, half covered", settings(half(command("d")), half(command("d")))),
        ("10,000 commands with wildcards within", settings(half(glob("a")), half(glob("a")))),
        ("10,000 paths, none covered", settings(half(path("a")), half(path("d")))),
        ("10,000 paths, half covered by one rule", settings(half(path("a")), half(deny_all))),
        ("10,000 paths, half covered one by one", settings(half(path("a")), half(path("a")))),
        (
            "10,000 paths, half covered by many together",
            settings(half(|n| format!("Read(//srv/a/*/f{n})")), half(parts)),
        ),
        (
            "5,000 paths, each taken back by 5,000 negations",
            settings(
                half(|n| format!("Read(//srv/a/f{n}/*)"))
                    .into_iter()
                    .chain(half(|n| format!("Read(!//srv/a/f{n}/x)")))
                    .collect(),
                vec![],
            ),
        ),
        ("10,000 hosts, half covered", settings(half(host("a")), half(host("a")))),
        ("10,000 tools, half covered", settings(half(tool("a")), half(tool("a")))),
        ("10,000 commands with 30 wildcards each", settings(half(stars("a")), half(stars("b")))),
        ("400 paths made to explode", settings(few(half(deep("a"))), few(half(deep("*"))))),
        ("10,000 paths made to explode", settings(half(deep("a")), half(deep("*")))),
    ]
}
