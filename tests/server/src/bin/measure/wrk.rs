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
    /// How many records a request makes.
    pub(crate) records: u64,
    body: &'static str,
}

/// One call a request. The commands differ, so that nothing is answered from a cache of one.
pub(crate) const DECIDE: Script = Script {
    name: "decide",
    path: "/v1/decide",
    records: 1,
    body: r#"
local n = 0
request = function()
  n = n + 1
  local body = '{"tool":"Bash","input":{"command":"git task' .. (n % 8) .. ' --number ' .. n .. ' src/lib.rs"},"cwd":"/w","session":"' .. name .. '","agent":"bench","call_id":"' .. name .. n .. '"}'
  return wrk.format("POST", nil, nil, body)
end
"#,
};

/// The same without a session, so that nothing is looked up.
pub(crate) const ALONE: Script = Script {
    name: "alone",
    path: "/v1/decide",
    records: 1,
    body: r#"
local n = 0
request = function()
  n = n + 1
  local body = '{"tool":"Bash","input":{"command":"git task' .. (n % 8) .. ' --number ' .. n .. ' src/lib.rs"},"cwd":"/w","agent":"bench","call_id":"' .. name .. n .. '"}'
  return wrk.format("POST", nil, nil, body)
end
"#,
};

/// A hundred lines a request.
pub(crate) const LINES: Script = Script {
    name: "lines",
    path: "/v1/decide",
    records: 100,
    body: r#"
local n = 0
request = function()
  local lines = {}
  for i = 1, 100 do
    n = n + 1
    lines[i] = '{"tool":"Bash","input":{"command":"git task' .. (n % 8) .. ' --number ' .. n .. ' src/lib.rs"},"cwd":"/w","session":"' .. name .. '","agent":"bench","call_id":"' .. name .. n .. '"}'
  end
  wrk.headers["content-type"] = "application/x-ndjson"
  return wrk.format("POST", nil, nil, table.concat(lines, "\n"))
end
"#,
};

/// A hundred records that clients wrote, a request.
pub(crate) const SHIPMENTS: Script = Script {
    name: "shipments",
    path: "/v1/audit",
    records: 100,
    body: r#"
local n = 0
local source = 0
request = function()
  source = source + 1
  local records = {}
  for i = 1, 100 do
    n = n + 1
    records[i] = '{"v":1,"at":1700000000000,"kind":"decision","agent":"bench","session":"' .. name .. '","child":null,"event":"PreToolUse","call_id":"' .. name .. n .. '","cwd":"/w","mode":"default","tool":"Bash","input":{"command":"git task1 --number ' .. n .. '"},"verdict":"allow","step":"2b","reason":null,"message":"allowed by a rule","trace":[],"took_us":100}'
  end
  return wrk.format("POST", nil, nil, '{"source":"' .. name .. '-' .. source .. '","first":1,"records":[' .. table.concat(records, ",") .. ']}')
end
"#,
};

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
    let head = format!(
        "wrk.headers['authorization'] = 'Bearer {token}'\nwrk.headers['content-type'] = 'application/json'\n\
         local name = ''\nlocal threads = 0\n\
         function setup(thread) thread:set('id', threads) threads = threads + 1 end\n\
         function init(args) math.randomseed(os.time() + id) name = 't' .. id .. '-' .. math.random(1000000000) .. '-' end\n"
    );
    let file = scratch()?.join(format!("{}.lua", script.name));
    fs::write(&file, format!("{head}{}", script.body))?;
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
