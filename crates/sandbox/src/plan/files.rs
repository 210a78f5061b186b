//! Files that a command may read and write: everything that was said, as marks, and the marks as places.

use std::collections::HashSet;
use std::path::Path;

use mayi_core::locations;
use mayi_core::path;
use mayi_core::policy::{Layer, Origin};
use mayi_settings::locks::is_in_project;
use serde_json::Value as Json;

use super::claim::Claim;
use super::data::places::{DEVICES, HOME_FILES, HOMES};
use super::grants::{Grants, Ruled, What};
use super::guard::{self, Ground};
use super::marks::{self, Cause, Mark, Marked};
use super::wanted::is_locking;
use super::{Access, Confined, Files, Gap, HiddenPattern, Place, Wanted, Why};

pub(super) fn files(wanted: &Wanted<'_>, (grants, claim): (&Grants, &Claim), gaps: &mut Vec<Gap>) -> Files {
    if wanted.loaded.settings.sandbox.filesystem.disabled {
        return Files::Open;
    }
    let directories: Vec<Directory<'_>> = wanted.directories().collect();
    let mut draft = Draft { wanted, directories: &directories, marks: Vec::new(), patterns: Vec::new(), gaps };
    draft.hide(grants);
    draft.open(grants, claim);
    draft.close(grants);
    draft.guard();
    draft.own();
    let Draft { marks, patterns, .. } = draft;
    let directory = &wanted.workspace().directory;
    let guarded = guarding(directory, &marks);
    let opened: Vec<(String, &Origin)> = marks.iter().filter_map(said_open).collect();
    let mut confined = Confined { places: marks::places(marks), patterns, scrubbed: Vec::new() };
    let tops = directories.iter().map(|directory| Path::new(directory.path));
    confined.scrubbed =
        tops.filter(|top| confined.access_of(top) == Access::Writable).flat_map(guard::bare_names).collect();
    gaps.extend(lost(directory, &confined, guarded));
    let is_lost = |(path, _): &&(String, &Origin)| confined.access_of(Path::new(path)) == Access::Hidden;
    gaps.extend(opened.iter().filter(is_lost).map(|(path, origin)| {
        Gap::at(format!("`{path}` is hidden, so it cannot be written; `allowRead` would show it"), origin)
    }));
    Files::Confined(confined)
}

/// A working directory and where it was said, if it was.
#[derive(Clone, Copy)]
struct Directory<'a> {
    path: &'a str,
    /// Every place that names it is in the project.
    layer: Option<Layer>,
}

impl<'a> Wanted<'a> {
    /// The working directories that count for commands.
    fn directories(&self) -> impl Iterator<Item = Directory<'a>> {
        let locks = self.loaded.effective.locks;
        let all = self.workspace().directories().chain(self.session.directories.iter().map(String::as_str));
        let directories = all.map(|path| Directory { path, layer: self.said_by(path) });
        directories.filter(move |directory| directory.layer.is_none_or(|layer| locks.counts_writes(layer)))
    }

    /// The layer of an added directory that nobody but files of the project names.
    fn said_by(&self, directory: &str) -> Option<Layer> {
        let items = self.loaded.effective.items("permissions.additionalDirectories");
        let mut named = items.iter().filter(|item| item.value == directory).map(|item| item.origin.layer).peekable();
        named.peek()?;
        named.all(is_in_project).then_some(Layer::Project)
    }
}

/// A plan's files in the making.
struct Draft<'a, 'b> {
    wanted: &'a Wanted<'a>,
    /// The working directories that count.
    directories: &'a [Directory<'a>],
    marks: Vec<Marked<'a>>,
    patterns: Vec<HiddenPattern>,
    gaps: &'b mut Vec<Gap>,
}

impl<'a> Draft<'a, '_> {
    fn mark(&mut self, path: &str, mark: Mark, cause: Cause<'a>) {
        self.marks.push(Marked { path: path.to_owned(), mark, cause });
    }

    /// The texts of a list of settings.
    fn items(&self, key: &str) -> impl Iterator<Item = (&'a str, &'a Origin)> + use<'a> {
        let items = self.wanted.loaded.effective.items(key).iter();
        items.filter_map(|item| Some((item.value.as_str()?, &item.origin)))
    }

    fn hide(&mut self, grants: &'a Grants) {
        self.hide_stores();
        self.hide_homes();
        for (text, origin) in self.items("sandbox.filesystem.denyRead") {
            self.hide_path(text, origin);
        }
        for item in self.wanted.loaded.effective.items("sandbox.credentials.files") {
            self.hide_secret(&item.value, &item.origin);
        }
        for ruled in &grants.no_read {
            self.hide_ruled(ruled);
        }
        let locked = self.locked();
        for (text, origin) in self.items("sandbox.filesystem.allowRead") {
            if has_wildcard(text) {
                self.gaps.push(Gap::at(format!("`{text}` re-opens nothing: a pattern cannot"), origin));
            } else if !is_in_project(origin.layer) || !is_below(text, &locked) {
                self.mark(text, Mark::Show, said(origin));
            }
        }
    }

    /// Stores of credentials, unless somebody works inside one.
    fn hide_stores(&mut self) {
        let home = self.wanted.home();
        if home.is_none() {
            let what = "home is not known, so stores of credentials in it are not hidden".to_owned();
            self.gaps.push(Gap::new(what));
        }
        for listed in locations::credentials() {
            let cause = Cause::Credential(listed.why);
            let place = match (listed.name.strip_prefix("~/"), home) {
                (None, _) => listed.name.to_owned(),
                (Some(_), None) => continue,
                (Some(rest), Some(home)) => [home.trim_end_matches('/'), "/", rest].concat(),
            };
            if has_wildcard(&place) {
                self.look_for(&place, cause);
                continue;
            }
            let own = |directory: &Directory<'_>| directory.layer.is_none() && path::is_within(directory.path, &place);
            if !self.directories.iter().any(own) {
                self.mark(&place, Mark::HideByDefault, cause);
            }
        }
    }

    /// While reading outside the working directories is refused, what people keep is closed but for those.
    fn hide_homes(&mut self) {
        const KEY: &str = "permissions.blockReadsOutsideWorkingDirectories";
        let setting = self.wanted.loaded.effective.setting(KEY).filter(|setting| setting.value == Json::Bool(true));
        let Some(origin) = setting.and_then(|setting| setting.origins.first()) else { return };
        let home = self.wanted.home();
        for closed in HOMES.iter().map(|entry| entry.name).chain(home) {
            self.mark(closed, Mark::HideByDefault, said(origin));
        }
        for directory in self.directories {
            self.mark(directory.path, Mark::Show, Cause::WorkingDirectory);
        }
        for file in HOME_FILES {
            let place = home.map(|home| path::join(home, file.name));
            self.marks.extend(place.map(|path| Marked { path, mark: Mark::Show, cause: Cause::System }));
        }
    }

    fn hide_path(&mut self, text: &str, origin: &'a Origin) {
        // A name may hold a bracket; a star in a name is too rare to be meant.
        if !text.contains(['*', '?']) {
            self.mark(text, Mark::Hide, said(origin));
        }
        if has_wildcard(text) {
            self.look_for(text, said(origin));
        }
    }

    fn hide_secret(&mut self, secret: &Json, origin: &'a Origin) {
        let Some(file) = secret.get("path").and_then(Json::as_str) else {
            let what = "a file with a secret is not hidden: nobody says which one".to_owned();
            return self.gaps.push(Gap::at(what, origin));
        };
        if secret.get("mode").is_some_and(|mode| mode == "mask") {
            self.gaps.push(Gap::at(format!("masking is not offered: `{file}` is hidden as a whole"), origin));
        }
        self.hide_path(file, origin);
    }

    fn hide_ruled(&mut self, ruled: &'a Ruled) {
        let origin = &ruled.origin;
        let pattern = match &ruled.what {
            What::Everything => return self.hide_people(ruled),
            What::Pattern(pattern) => pattern,
        };
        if pattern.is_negated() {
            return self.gaps.push(Gap::at(format!("`{}` re-opens nothing for commands", ruled.text), origin));
        }
        let (folder, below) = pattern.place();
        if !below.is_empty() {
            self.patterns.push(HiddenPattern { base: folder.into(), glob: below, why: said(origin).into() });
            return;
        }
        self.mark(&folder, Mark::Hide, said(origin));
        if let Some(spared) = pattern.spared().filter(|spared| path::is_within(spared, &folder)) {
            self.mark(spared, Mark::Show, said(origin));
        }
    }

    /// Nothing runs without reading programs, so "read nothing" means nothing that people keep.
    fn hide_people(&mut self, ruled: &'a Ruled) {
        let what = format!("`{}` hides homes and working directories; programs stay readable", ruled.text);
        self.gaps.push(Gap::at(what, &ruled.origin));
        let kept: Vec<&str> = HOMES.iter().map(|entry| entry.name).chain(self.wanted.home()).collect();
        for place in kept.into_iter().chain(self.directories.iter().map(|directory| directory.path)) {
            self.mark(place, Mark::Hide, said(&ruled.origin));
        }
    }

    fn look_for(&mut self, path: &str, cause: Cause<'a>) {
        let (base, glob) = split_pattern(path);
        self.patterns.push(HiddenPattern { base: base.into(), glob: glob.to_owned(), why: cause.into() });
    }

    /// What the organisation or `--settings` hides: nothing in the project opens it again.
    fn locked(&self) -> HashSet<String> {
        let is_locking = |cause: Cause<'_>| matches!(cause, Cause::Said(origin) if is_locking(origin.layer));
        let hides = |marked: &&Marked<'_>| marked.mark == Mark::Hide && is_locking(marked.cause);
        self.marks.iter().filter(hides).map(|marked| marked.path.clone()).collect()
    }

    fn open(&mut self, grants: &'a Grants, claim: &Claim) {
        let opened = self.opened(grants);
        match claim {
            Claim::None => self.marks.extend(opened),
            Claim::Clear(claimed) => {
                for path in &claimed.writes {
                    let path = self.narrowed(path, &opened);
                    self.marks.extend(path.map(|path| Marked { path, mark: Mark::Write, cause: Cause::Derived }));
                }
            }
        }
    }

    /// Everything that settings and rules open for writing; working directories come last and give the reason.
    fn opened(&mut self, grants: &'a Grants) -> Vec<Marked<'a>> {
        let locked = self.locked();
        let counts = |path: &str, layer: Layer| !is_in_project(layer) || !is_below(path, &locked);
        let mut opened = Vec::new();
        for (text, origin) in self.items("sandbox.filesystem.allowWrite") {
            if has_wildcard(text) {
                self.gaps.push(Gap::at(format!("`{text}` opens nothing: a pattern cannot"), origin));
            } else if counts(text, origin.layer) {
                opened.push(Marked { path: text.to_owned(), mark: Mark::Write, cause: said(origin) });
            }
        }
        for ruled in &grants.write {
            let folder = self.folder_of(ruled).filter(|folder| counts(folder, ruled.origin.layer));
            opened.extend(folder.map(|path| Marked { path, mark: Mark::Write, cause: said(&ruled.origin) }));
        }
        for Directory { path, layer } in self.directories.iter().copied() {
            if layer.is_none_or(|layer| counts(path, layer)) {
                opened.push(Marked { path: path.to_owned(), mark: Mark::Write, cause: Cause::WorkingDirectory });
            }
        }
        opened
    }

    /// The folder that an allow rule opens. One about single names opens nothing that is not open already.
    fn folder_of(&mut self, ruled: &'a Ruled) -> Option<String> {
        let What::Pattern(pattern) = &ruled.what else { return None };
        let (folder, below) = pattern.place();
        let is_open = self.directories.iter().any(|directory| path::is_within(&folder, directory.path));
        if is_open {
            return None;
        }
        if pattern.is_negated() {
            self.mark(&folder, Mark::NoWrite, said(&ruled.origin));
            return None;
        }
        if !below.is_empty() {
            let what =
                format!("`{}` opens nothing for commands: only folders and single files can be opened", ruled.text);
            self.gaps.push(Gap::at(what, &ruled.origin));
            return None;
        }
        Some(folder)
    }

    /// What is opened for a claimed path: the folder that holds it, as far as settings open it. What lies elsewhere is
    /// open only if somebody agreed to this very command.
    fn narrowed(&self, claimed: &str, opened: &[Marked<'_>]) -> Option<String> {
        let is_open = |path: &str| opened.iter().any(|root| path::is_within(path, &root.path));
        let folder = path::parent(claimed).filter(|folder| is_open(folder));
        let agreed = !self.wanted.permit.terms().confined;
        folder.or_else(|| (is_open(claimed) || agreed).then_some(claimed)).map(str::to_owned)
    }

    fn close(&mut self, grants: &'a Grants) {
        for (text, origin) in self.items("sandbox.filesystem.denyWrite") {
            if has_wildcard(text) {
                self.gaps.push(Gap::at(format!("`{text}` closes nothing: a pattern cannot"), origin));
            } else {
                self.mark(text, Mark::NoWrite, said(origin));
            }
        }
        for ruled in &grants.no_write {
            self.close_ruled(ruled);
        }
    }

    fn close_ruled(&mut self, ruled: &'a Ruled) {
        let origin = &ruled.origin;
        let (folder, below, spared) = match &ruled.what {
            What::Everything => ("/".to_owned(), String::new(), None),
            What::Pattern(pattern) if pattern.is_negated() => {
                return self.gaps.push(Gap::at(format!("`{}` re-opens nothing for commands", ruled.text), origin));
            }
            What::Pattern(pattern) => {
                let (folder, below) = pattern.place();
                (folder, below, pattern.spared())
            }
        };
        let spares = spared.is_some_and(|spared| path::is_within(spared, &folder));
        if below.is_empty() && !spares {
            return self.mark(&folder, Mark::NoWrite, said(origin));
        }
        let what = format!("`{}` closes nothing for commands: only folders and single files can be closed", ruled.text);
        self.gaps.push(Gap::at(what, origin));
    }

    fn guard(&mut self) {
        let opened = self.marks.iter().filter(|marked| marked.mark == Mark::Write);
        let ground = Ground {
            roots: opened.map(|marked| marked.path.as_str()).collect(),
            directories: self.directories.iter().map(|directory| directory.path).collect(),
            home: self.wanted.home(),
        };
        let guarded = guard::marks(&ground);
        self.marks.extend(guarded);
        for file in &self.wanted.loaded.policy.options.protected_files {
            self.mark(file, Mark::Guard, Cause::Protected("mayi's own settings and state"));
        }
    }

    /// Devices that keep nothing, and the command's own temporary folder.
    fn own(&mut self) {
        for device in DEVICES {
            self.mark(device.name, Mark::Own, Cause::System);
        }
        match self.wanted.temporary.to_str().filter(|path| path.starts_with('/')) {
            Some(temporary) => self.mark(&path::clean(temporary), Mark::Own, Cause::Temporary),
            None => self.gaps.push(Gap::new("there is no temporary folder: its path is no text".to_owned())),
        }
    }
}

/// A working directory in which a command can do less than people expect.
fn lost(directory: &str, confined: &Confined, guarded: Option<Cause<'_>>) -> Option<Gap> {
    let access = confined.access_of(Path::new(directory));
    let (state, origin) = match (access, confined.place_of(Path::new(directory)), guarded) {
        (Access::Hidden, Some(Place { why: Why::Said(origin), .. }), _) => ("read".to_owned(), Some(origin.clone())),
        (Access::Hidden, _, _) => ("read".to_owned(), None),
        (Access::ReadOnly, _, Some(Cause::Protected(why) | Cause::Kept(why))) => (format!("written: {why}"), None),
        (Access::ReadOnly | Access::Writable, _, _) => return None,
    };
    Some(Gap { what: format!("the working directory `{directory}` cannot be {state}"), origin })
}

/// What a setting or a rule opens for writing, and where it says so.
fn said_open<'a>(marked: &Marked<'a>) -> Option<(String, &'a Origin)> {
    let Cause::Said(origin) = marked.cause else { return None };
    (marked.mark == Mark::Write).then(|| (marked.path.clone(), origin))
}

/// What protects a folder around a path.
fn guarding<'a>(path: &str, marks: &[Marked<'a>]) -> Option<Cause<'a>> {
    let guards = |marked: &&Marked<'_>| marked.mark == Mark::Guard && path::is_within(path, &marked.path);
    marks.iter().find(guards).map(|marked| marked.cause)
}

fn said(origin: &Origin) -> Cause<'_> {
    Cause::Said(origin)
}

fn has_wildcard(path: &str) -> bool {
    path.bytes().any(|byte| matches!(byte, b'*' | b'?' | b'['))
}

fn is_below(path: &str, locked: &HashSet<String>) -> bool {
    !locked.is_empty() && path::ancestors(path).any(|above| locked.contains(above))
}

/// The folder before the first wildcard, and the pattern below it.
fn split_pattern(path: &str) -> (&str, &str) {
    let wild = path.find(['*', '?', '[']).unwrap_or(path.len());
    let slash = path.get(..wild).and_then(|spelled| spelled.rfind('/')).unwrap_or(0);
    let (base, glob) = path.split_at(slash);
    (if base.is_empty() { "/" } else { base }, glob.trim_start_matches('/'))
}
