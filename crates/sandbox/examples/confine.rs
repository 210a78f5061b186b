//! Runs a shell text confined to a folder: `confine FOLDER TEXT`. The smallest use of the crate, and what its start-up
//! is measured with.

use std::path::PathBuf;

use mayi_core::call::Call;
use mayi_core::reason::Reason;
use mayi_core::step::Step;
use mayi_core::trace::Trace;
use mayi_core::verdict::{Decision, Terms, Verdict};
use mayi_sandbox::host::Host;
use mayi_sandbox::plan::{Access, Confined, Environment, Files, Limits, Nesting, Network, Place, Plan, Sockets, Why};
use mayi_sandbox::run::{Io, Sandbox};

fn main() {
    let mut words = std::env::args().skip(1);
    let (Some(folder), Some(text)) = (words.next(), words.next()) else {
        eprintln!("confine FOLDER TEXT");
        std::process::exit(2);
    };
    let decision = Decision {
        verdict: Verdict::Allow,
        step: Step::Human,
        reason: Reason::Confined,
        terms: Terms { confined: true, ..Terms::default() },
        trace: Trace::default(),
    };
    let Some(permit) = decision.permit(Call::shell(&text)) else { return };
    let sandbox = match Sandbox::new(plan(PathBuf::from(folder)), &Host::probe()) {
        Ok(sandbox) => sandbox,
        Err(refused) => {
            eprintln!("{refused}");
            std::process::exit(1);
        }
    };
    let io = Io { environment: std::env::vars_os().collect(), ..Io::default() };
    match sandbox.spawn(&permit, io) {
        Ok(running) => {
            let report = running.wait();
            if !report.violations.is_empty() || !report.scrubbed.is_empty() {
                eprintln!("{report:?}");
            }
            std::process::exit(report.ending.code());
        }
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(error.code());
        }
    }
}

/// Writes in the folder alone, protects its hooks and the configuration of its tools, no network.
fn plan(folder: PathBuf) -> Plan {
    let place = |path: PathBuf, access, why| Place { path, access, why };
    let protected = |name: &str| place(folder.join(name), Access::ReadOnly, Why::Protected("an example".into()));
    let mut places: Vec<Place> = [".git/config", ".git/hooks", ".mcp.json"].map(protected).into();
    places.push(place(folder.clone(), Access::Writable, Why::WorkingDirectory));
    places.sort_by(|one, other| one.path.cmp(&other.path));
    Plan {
        directory: folder,
        files: Files::Confined(Confined { places, ..Confined::default() }),
        network: Network::None,
        sockets: Sockets::None,
        environment: Environment::default(),
        limits: Limits { core: Some(0), ..Limits::default() },
        nesting: Nesting::Refused,
        gaps: Vec::new(),
    }
}
