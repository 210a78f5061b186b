//! A plan in words: what `mayi run --plan` prints. For programs, a plan is JSON as it is.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use crate::plan::{
    Access, Confined, Files, Gap, HostPattern, Hosts, Nesting, Network, Place, Plan, Sockets, Unlisted, Why,
};

/// Names are wrapped before this column.
const WIDTH: usize = 100;

/// A plan as people read it.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    plan: &'a Plan,
    home: Option<&'a Path>,
}

impl Plan {
    /// The plan as people read it, with `~` for this home.
    pub fn show<'a>(&'a self, home: Option<&'a Path>) -> Shown<'a> {
        Shown { plan: self, home }
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = self.plan;
        writeln!(f, "runs in {}", self.path(&plan.directory))?;
        match &plan.files {
            Files::Open => writeln!(f, "\nfiles\n  not confined")?,
            Files::Confined(confined) => self.files(f, confined)?,
        }
        self.network(f)?;
        self.rest(f)?;
        self.gaps(f, &plan.gaps)
    }
}

impl Shown<'_> {
    fn path(&self, path: &Path) -> String {
        match self.home.and_then(|home| path.strip_prefix(home).ok()) {
            Some(inside) if inside.as_os_str().is_empty() => "~".to_owned(),
            Some(inside) => format!("~/{}", inside.display()),
            None => path.display().to_string(),
        }
    }

    fn files(&self, f: &mut fmt::Formatter<'_>, confined: &Confined) -> fmt::Result {
        let of = |access: Access| confined.places.iter().filter(move |place| place.access == access);
        let system = |place: &&Place| place.why != Why::System;
        section(f, "writable", of(Access::Writable).filter(system).map(|place| self.line(place)))?;
        let protected = |place: &&Place| matches!(place.why, Why::Protected(_));
        let kept = |place: &&Place| matches!(place.why, Why::Kept(_));
        let said = of(Access::ReadOnly).filter(|place| !protected(place) && !kept(place));
        section(f, "read-only inside", said.map(|place| self.line(place)))?;
        self.protected(f, "always protected", of(Access::ReadOnly).filter(protected).collect())?;
        self.protected(f, "protected where it is there", of(Access::ReadOnly).filter(kept).collect())?;
        let patterns = confined.patterns.iter().map(|pattern| (pattern.base.join(&pattern.glob), &pattern.why));
        let credential = |why: &Why| matches!(why, Why::Credential(_));
        let hidden = of(Access::Hidden).filter(|place| !credential(&place.why)).map(|place| self.line(place));
        let matched = patterns.filter(|(_, why)| !credential(why)).map(|(path, why)| (self.path(&path), reason(why)));
        section(f, "hidden", hidden.chain(matched))?;
        let stores = of(Access::Hidden).filter(|place| credential(&place.why)).map(|place| self.path(&place.path));
        side_by_side(f, "hidden credentials", stores)
    }

    fn line(&self, place: &Place) -> (String, String) {
        (self.path(&place.path), reason(&place.why))
    }

    /// Protected names, once for all folders that have the same ones.
    fn protected(&self, f: &mut fmt::Formatter<'_>, title: &str, places: Vec<&Place>) -> fmt::Result {
        let mut by_folder: BTreeMap<&Path, Vec<String>> = BTreeMap::new();
        for place in places {
            let folder = self.writable_around(&place.path);
            let name = place.path.strip_prefix(folder).unwrap_or(&place.path).display().to_string();
            by_folder.entry(folder).or_default().push(name);
        }
        let mut by_names: BTreeMap<Vec<String>, Vec<String>> = BTreeMap::new();
        for (folder, names) in by_folder {
            by_names.entry(names).or_default().push(self.path(folder));
        }
        by_names.into_iter().try_for_each(|(names, folders)| {
            side_by_side(f, &format!("{title}, in {}", folders.join(" and ")), names.into_iter())
        })
    }

    /// The nearest folder above a path that can be written.
    fn writable_around<'b>(&self, path: &'b Path) -> &'b Path {
        let writable = |folder: &&Path| match &self.plan.files {
            Files::Open => false,
            Files::Confined(confined) => {
                let place = confined.place_of(folder).filter(|place| place.path == *folder);
                place.is_some_and(|place| place.access == Access::Writable)
            }
        };
        path.ancestors().skip(1).find(writable).unwrap_or(Path::new("/"))
    }

    fn network(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.plan.network {
            Network::None => writeln!(f, "\nhosts\n  none"),
            Network::Own { http, socks } => {
                let port =
                    |name: &str, port: &Option<u16>| port.map(|port| (format!("{name} proxy"), port.to_string()));
                let ports = [port("HTTP", http), port("SOCKS", socks)];
                section(f, "hosts, as a proxy of your own lets through", ports.into_iter().flatten())
            }
            Network::Proxied(Hosts { allowed, denied, unlisted }) => {
                section(f, "hosts", allowed.iter().map(host))?;
                section(f, "refused hosts", denied.iter().map(host))?;
                let others = match unlisted {
                    Unlisted::Asked => "any other host is asked about, and refused where nobody can answer",
                    Unlisted::Refused => "any other host is refused",
                };
                writeln!(f, "\nother hosts\n  {others}")
            }
        }
    }

    fn rest(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sockets = match self.plan.sockets {
            Sockets::None => "none but those it makes itself",
            Sockets::All => "any",
        };
        writeln!(f, "\nUnix sockets\n  {sockets}")?;
        let removed = self.plan.environment.removed.iter().map(|name| (name.clone(), String::new()));
        section(f, "variables that are not passed on", removed)?;
        let limits = self.plan.limits;
        let limit = |name: &str, most: Option<u64>| most.map(|most| (name.to_owned(), most.to_string()));
        let all =
            [limit("core file", limits.core), limit("processes", limits.processes), limit("open files", limits.files)];
        section(f, "limits", all.into_iter().flatten())?;
        match self.plan.nesting {
            Nesting::Refused => Ok(()),
            Nesting::Possible => writeln!(f, "\nweaker\n  sandboxes can be made inside: the second wall is missing"),
        }
    }

    fn gaps(&self, f: &mut fmt::Formatter<'_>, gaps: &[Gap]) -> fmt::Result {
        if gaps.is_empty() {
            return Ok(());
        }
        writeln!(f, "\nnot as asked for")?;
        for Gap { what, origin } in gaps {
            match origin {
                Some(origin) => writeln!(f, "  {what}\n    {origin}")?,
                None => writeln!(f, "  {what}")?,
            }
        }
        Ok(())
    }
}

/// A title and lines of two columns; nothing at all without lines.
fn section(f: &mut fmt::Formatter<'_>, title: &str, lines: impl Iterator<Item = (String, String)>) -> fmt::Result {
    let lines: Vec<(String, String)> = lines.collect();
    let Some(width) = lines.iter().map(|(left, _)| left.chars().count()).max() else { return Ok(()) };
    writeln!(f, "\n{title}")?;
    for (left, right) in lines {
        let line = format!("  {left:width$}  {right}");
        writeln!(f, "{}", line.trim_end())?;
    }
    Ok(())
}

/// A title and many names, wrapped; nothing at all without names.
fn side_by_side(f: &mut fmt::Formatter<'_>, title: &str, names: impl Iterator<Item = String>) -> fmt::Result {
    let mut names = names.peekable();
    if names.peek().is_none() {
        return Ok(());
    }
    writeln!(f, "\n{title}")?;
    let mut line = String::from(" ");
    for name in names {
        if line.len() + name.len() >= WIDTH && line.len() > 1 {
            writeln!(f, "{line}")?;
            line = String::from(" ");
        }
        line.push(' ');
        line.push_str(&name);
    }
    writeln!(f, "{line}")
}

fn host(pattern: &HostPattern) -> (String, String) {
    let name = match (pattern.port, pattern.host.contains(':')) {
        (Some(port), true) => format!("[{}]:{port}", pattern.host),
        (Some(port), false) => format!("{}:{port}", pattern.host),
        (None, _) => pattern.host.clone(),
    };
    (name, pattern.origin.to_string())
}

fn reason(why: &Why) -> String {
    match why {
        Why::WorkingDirectory => "working directory".to_owned(),
        Why::Temporary => "its own temporary folder".to_owned(),
        Why::Said(origin) => origin.to_string(),
        Why::Credential(what) | Why::Protected(what) | Why::Kept(what) => what.clone(),
        Why::Derived => "the command writes there".to_owned(),
        Why::System => "every program needs it".to_owned(),
    }
}
