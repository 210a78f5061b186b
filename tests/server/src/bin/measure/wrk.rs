//! Load from `wrk`: connections that are kept open, each asking again as soon as it was answered.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use mayi_server_tests::Server;

use crate::scratch;

/// Seconds a measurement takes; the first ones are not counted.
const SECONDS: &str = "10";
const WARM_UP: &str = "2";

/// What is asked, in wrk's own language.
#[derive(Clone, Copy)]
pub(crate) struct Script {
    name: &'static str,
    path: &'static str,
    kind: &'static str,
    /// How many records a request makes.
    pub(crate) records: u64,
    /// So many different requests are made before the clock runs, so that making them costs the server nothing of the
    /// cores they share; 0 makes each one when it is sent, because no two may be the same.
    prepared: u64,
    /// A function `make(n)` that gives the body of a thread's request with this number.
    make: &'static str,
}

/// One call a request. The commands differ, so that nothing is answered from a cache of one.
pub(crate) const DECIDE: Script = Script {
    name: "decide",
    path: "/v1/decide",
    kind: "application/json",
    records: 1,
    prepared: 10_000,
    make: r#"
function make(n)
  return '{"tool":"Bash","input":{"command":"git task' .. (n % 8) .. ' --number ' .. n .. ' src/lib.rs"},"cwd":"/w","session":"' .. name .. '","agent":"bench","call_id":"' .. name .. n .. '"}'
end
"#,
};

/// The same without a session, so that nothing is looked up.
pub(crate) const ALONE: Script = Script {
    name: "alone",
    make: r#"
function make(n)
  return '{"tool":"Bash","input":{"command":"git task' .. (n % 8) .. ' --number ' .. n .. ' src/lib.rs"},"cwd":"/w","agent":"bench","call_id":"' .. name .. n .. '"}'
end
"#,
    ..DECIDE
};

/// A hundred lines a request.
pub(crate) const LINES: Script = Script {
    name: "lines",
    path: "/v1/decide",
    kind: "application/x-ndjson",
    records: 100,
    prepared: 200,
    make: r#"
function make(n)
  local lines = {}
  for i = 1, 100 do
    local number = n * 100 + i
    lines[i] = '{"tool":"Bash","input":{"command":"git task' .. (i % 8) .. ' --number ' .. number .. ' src/lib.rs"},"cwd":"/w","session":"' .. name .. '","agent":"bench","call_id":"' .. name .. number .. '"}'
  end
  return table.concat(lines, "\n")
end
"#,
};

/// A hundred records that clients wrote, a request; what was shipped before would not be written again.
pub(crate) const SHIPMENTS: Script = Script {
    name: "shipments",
    path: "/v1/audit",
    kind: "application/json",
    records: 100,
    prepared: 0,
    make: r#"
function make(n)
  local records = {}
  for i = 1, 100 do
    local number = n * 100 + i
    records[i] = '{"v":1,"at":1700000000000,"kind":"decision","agent":"bench","session":"' .. name .. '","child":null,"event":"PreToolUse","call_id":"' .. name .. number .. '","cwd":"/w","mode":"default","tool":"Bash","input":{"command":"git task1 --number ' .. number .. '"},"verdict":"allow","step":"2b","reason":null,"message":"allowed by a rule","trace":[],"took_us":100}'
  end
  return '{"source":"' .. name .. '-' .. n .. '","first":1,"records":[' .. table.concat(records, ",") .. ']}'
end
"#,
};

/// How every script begins: a name of its own for each thread, and its requests.
const HEAD: &str = r#"
local threads = 0
function setup(thread) thread:set('id', threads) threads = threads + 1 end
local made = {}
function init(args)
  math.randomseed(os.time() + id)
  name = 't' .. id .. '-' .. math.random(1000000000) .. '-'
  for n = 1, prepared do made[n] = wrk.format('POST', nil, nil, make(n)) end
end
local n = 0
function request()
  n = n + 1
  if prepared == 0 then return wrk.format('POST', nil, nil, make(n)) end
  return made[n % prepared + 1]
end
"#;

/// What wrk found.
pub(crate) struct Run {
    /// Requests that were answered, those before the measurement too.
    pub(crate) requests: u64,
    /// Requests a second.
    pub(crate) rate: f64,
    /// Half of them took no longer, in milliseconds.
    pub(crate) p50: f64,
    /// Of a hundred, one took longer.
    pub(crate) p99: f64,
}

/// Runs a script over so many connections.
pub(crate) fn run(server: &Server, script: Script, connections: usize) -> Result<Run> {
    let warm = once(server, script, (connections, WARM_UP))?;
    let run = once(server, script, (connections, SECONDS))?;
    Ok(Run { requests: warm.requests + run.requests, ..run })
}

fn once(server: &Server, script: Script, (connections, seconds): (usize, &str)) -> Result<Run> {
    let token = server.options().tokens.get("agent").context("no token")?;
    let Script { name, kind, prepared, make, .. } = script;
    let headers = format!("wrk.headers['authorization'] = 'Bearer {token}'\nwrk.headers['content-type'] = '{kind}'\n");
    let file = scratch()?.join(format!("{name}.lua"));
    fs::write(&file, format!("{headers}local prepared = {prepared}\n{HEAD}{make}"))?;
    let threads = connections.min(2).to_string();
    let output = Command::new("wrk")
        .args(["-t", &threads, "-c", &connections.to_string(), "-d", &format!("{seconds}s"), "--latency", "-s"])
        .arg(&file)
        .arg(format!("{}{}", server.base(), script.path))
        .output()
        .context("cannot run `wrk`")?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(output.status.success(), "wrk failed: {said}{}", String::from_utf8_lossy(&output.stderr));
    ensure!(!said.contains("Non-2xx") && !said.contains("Socket errors"), "not everything was answered: {said}");
    read(&said).with_context(|| format!("wrk said: {said}"))
}

/// The figures in wrk's words.
fn read(said: &str) -> Option<Run> {
    let after = |word: &str| said.lines().find_map(|line| line.trim().strip_prefix(word)).map(str::trim);
    let requests = said.lines().find_map(|line| line.trim().split_once(" requests in ")?.0.parse().ok())?;
    Some(Run {
        requests,
        rate: after("Requests/sec:")?.parse().ok()?,
        p50: milliseconds(after("50%")?)?,
        p99: milliseconds(after("99%")?)?,
    })
}

/// A time as wrk writes it.
fn milliseconds(text: &str) -> Option<f64> {
    for (unit, factor) in [("us", 0.001), ("ms", 1.0), ("s", 1000.0), ("m", 60_000.0)] {
        if let Some(number) = text.strip_suffix(unit).and_then(|number| number.parse::<f64>().ok()) {
            return Some(number * factor);
        }
    }
    None
}
