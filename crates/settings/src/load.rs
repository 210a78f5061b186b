//! Loading: documents, options and answers become one policy, with everything that is wrong beside it.
//!
//! A load always ends in a whole policy. What cannot be read makes it stricter, never looser.

mod compose;
mod mode;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mayi_core::call::Workspace;
use mayi_core::mode::Mode;
use mayi_core::path::Case;
use mayi_core::policy::{Layer, Options, Origin, Policy, Source, Written};
use serde_json::Value as Json;

use crate::document::{Document, Kept, Unreadable};
use crate::hooks::Hook;
use crate::keys::Supply;
use crate::merge::Effective;
use crate::places::{Found, Places, SettingsFile};
use crate::problem::Problem;
use crate::settings::Settings;
use crate::sheet::{Ground, Provenance, Sheet};
use crate::tracked::is_tracked;
use crate::update::SessionPermissions;

/// Everything that is given beside the settings files.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// Managed settings that are no files, strongest first: a server's bundle, the system's policy.
    pub bundles: Vec<Bundle>,
    /// `--settings`, the last one strongest.
    pub flags: Vec<Flag>,
    /// Command-line options.
    pub cli: Cli,
    /// Rules that a skill or slash command brings.
    pub command: Vec<Written>,
    /// Rules from answers given during the session.
    pub session: Vec<Written>,
    /// Directories from answers given during the session.
    pub session_directories: Vec<String>,
    /// Whether the person trusts the folder.
    pub trust: Trust,
    /// Who wrote the local settings.
    pub local: LocalAuthor,
}

/// Managed settings that are no file.
#[derive(Clone, Debug, PartialEq)]
pub struct Bundle {
    /// What a person would call it.
    pub name: String,
    /// The settings.
    pub settings: Json,
}

/// A value of `--settings`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flag {
    /// A file.
    File(PathBuf),
    /// The settings themselves.
    Inline(String),
}

impl Flag {
    /// A value of `--settings`: JSON begins with a brace, no file name should.
    pub fn of_argument(argument: &str) -> Self {
        if argument.trim_start().starts_with('{') {
            Flag::Inline(argument.to_owned())
        } else {
            Flag::File(PathBuf::from(argument))
        }
    }

    /// The same for somebody who is not in this directory.
    pub fn seen_from_anywhere(&self, directory: &Path) -> Self {
        match self {
            Flag::File(path) => Flag::File(directory.join(path)),
            Flag::Inline(text) => Flag::Inline(text.clone()),
        }
    }
}

/// Command-line options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cli {
    /// `--allowed-tools`, `--disallowed-tools`.
    pub rules: Vec<Written>,
    /// `--mode`.
    pub mode: Option<Mode>,
    /// `--add-dir`.
    pub directories: Vec<String>,
}

/// Whether the person trusts the folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// Not yet: what its files would loosen does not count.
    #[default]
    Untrusted,
    /// Yes.
    Trusted,
}

/// Who wrote the local settings of a project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LocalAuthor {
    /// The person.
    #[default]
    Person,
    /// The repository. A file that git tracks, or that lies behind a link, is found to be the repository's when it is read.
    Repository,
}

/// A rule that is there and does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Withheld {
    /// The rule.
    pub written: Written,
    /// Where it stands.
    pub origin: Origin,
    /// Why it does not count.
    pub why: Withholding,
}

/// Why a rule does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Withholding {
    /// Its folder is not trusted.
    NeedsTrust,
    /// Only the organisation's rules count.
    ManagedOnly,
}

/// A document that was read.
#[derive(Clone, Debug)]
pub(crate) struct ReadDocument {
    pub(crate) layer: Layer,
    pub(crate) file: Option<Arc<str>>,
    /// The file itself, if it is one.
    pub(crate) path: Option<PathBuf>,
    pub(crate) document: Arc<Kept>,
}

/// What loading gives.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The compiled policy.
    pub policy: Arc<Policy>,
    /// Rules that are there and do not count.
    pub withheld: Vec<Withheld>,
    /// Every key with its value and origins.
    pub effective: Effective,
    /// The same as types.
    pub settings: Box<Settings>,
    /// The hooks that may run.
    pub hooks: Vec<Hook>,
    /// What was found wrong while reading; see [`Loaded::problems`] for all of it.
    pub(crate) found: Vec<Problem>,
    /// What was read, for showing a line of it and for looking at every text in it.
    pub(crate) read: Vec<ReadDocument>,
}

impl Loaded {
    /// The same policy with further rules, as an answer in a session adds them. An organisation that lets only its
    /// own rules count gets its policy unchanged.
    pub fn policy_with(&self, further: Vec<Source>) -> Policy {
        let mut sources = self.policy.sources().to_vec();
        if !self.settings.allow_managed_permission_rules_only {
            sources.extend(further);
        }
        Policy::build(self.policy.workspace.clone(), sources, self.policy.options.clone())
    }

    /// The same policy with what a session's answers added.
    pub fn policy_for(&self, session: &SessionPermissions) -> Policy {
        let root = &self.policy.workspace.directory;
        let mut policy = self.policy_with(vec![Source::of(Layer::Session, root, session.written())]);
        let new = session.directories.iter().filter(|directory| !self.policy.workspace.added.contains(directory));
        policy.workspace.added.extend(new.cloned());
        policy
    }

    /// Everything that is wrong. Worked out when somebody wants to know: a hook does not.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = self.found.clone();
        problems.extend(compose::withheld_problems(self));
        problems.extend(compose::rule_problems(self));
        problems.extend(crate::examples::problems(self));
        problems.iter_mut().for_each(Problem::redact);
        problems
    }

    /// Whether an "always allow" answer may be offered.
    pub fn may_save_rules(&self) -> bool {
        !self.settings.allow_managed_permission_rules_only
    }

    /// What each document says about a key, strongest first, with the document's name. Unlike the merged value this
    /// tells what another program reads that has only some of these files.
    pub fn said<'a>(&'a self, path: &'a [&'a str]) -> impl Iterator<Item = (&'a str, Json)> {
        self.read.iter().filter_map(move |read| {
            let file = read.file.as_deref()?;
            let node = path.iter().try_fold(read.document.root(), |node, name| node.member(name))?;
            Some((file, node.to_value()))
        })
    }

    /// The file that a document was read from, by the name its origins carry; `None` for what is no file.
    pub fn path(&self, file: &str) -> Option<&Path> {
        self.read.iter().find(|read| read.file.as_deref() == Some(file))?.path.as_deref()
    }

    /// The text of a document that was read, by the name its origins carry.
    pub fn text(&self, file: &str) -> Option<&str> {
        let read = self.read.iter().find(|read| read.file.as_deref() == Some(file))?;
        Some(&read.document.text).filter(|text| !text.is_empty()).map(|text| &**text)
    }
}

/// How a document is fetched.
pub(crate) type Open<'a> = &'a dyn Fn(&Path) -> Result<Option<Document>, Unreadable>;

/// Reads every settings file of the places, and what is given beside them.
pub fn load(places: &Places, given: &Given) -> Loaded {
    load_with(places, given, &Document::open)
}

/// The same with documents fetched in another way.
pub(crate) fn load_with(places: &Places, given: &Given, open: Open<'_>) -> Loaded {
    let workspace = Workspace {
        directory: text_of(&places.directory),
        home: places.home.as_deref().map(text_of),
        ..Workspace::default()
    };
    let reader = FileReader { workspace: &workspace, given, open, repository: places.repository.as_deref() };
    let mut sheets = bundles(given, reader.ground());
    sheets.extend(places.files_within_reach().iter().filter_map(|file| reader.file(file)));
    sheets.extend(flags(given, reader));
    sheets.extend(homeless(places));
    let options = Options {
        protected_files: compose::protected(places, given),
        case: Case::of_this_system(),
        ..Options::default()
    };
    compose::compose(sheets, given, workspace, options)
}

/// What stands for the user's settings where nobody knows their home.
fn homeless(places: &Places) -> Option<Sheet> {
    match places.found {
        Found::All => None,
        Found::NoHome => {
            let file = Some("settings in a home directory that is not known".into());
            let why = "neither `HOME` nor the system's list of users names a home directory";
            let provenance = Provenance { file, root: "/".to_owned(), supply: Supply::Person };
            Some(Sheet::broken(&Unreadable::Refused(why.to_owned()), Layer::User, provenance))
        }
    }
}

/// The settings of each layer as values. No file is read.
pub fn of_values(layers: &[(Layer, &Json)], workspace: &Workspace, given: &Given) -> Loaded {
    let ground = Ground { directory: &workspace.directory, home: workspace.home.as_deref() };
    let mut sheets = bundles(given, ground);
    for (layer, value) in layers {
        let root = match layer {
            Layer::User => {
                workspace.home.as_ref().map_or(workspace.directory.clone(), |home| format!("{home}/.claude"))
            }
            Layer::Managed => "/".to_owned(),
            Layer::Flag | Layer::Cli | Layer::Command | Layer::Session | Layer::Local | Layer::Project => {
                workspace.directory.clone()
            }
        };
        let provenance = Provenance { file: Some(format!("<{layer}>").into()), root, supply: supply(*layer, given) };
        sheets.push(Sheet::read(Document::of_value(value), *layer, provenance, ground));
    }
    sheets.extend(flags(given, FileReader { workspace, given, open: &Document::open, repository: None }));
    compose::compose(sheets, given, workspace.clone(), Options::default())
}

/// Who wrote a layer's documents.
fn supply(layer: Layer, given: &Given) -> Supply {
    let repository = layer == Layer::Project || (layer == Layer::Local && given.local == LocalAuthor::Repository);
    match (repository, given.trust) {
        (false, _) => Supply::Person,
        (true, Trust::Trusted) => Supply::TrustedRepository,
        (true, Trust::Untrusted) => Supply::Repository,
    }
}

fn bundles(given: &Given, ground: Ground<'_>) -> Vec<Sheet> {
    let read = |bundle: &Bundle| {
        let provenance =
            Provenance { file: Some(bundle.name.as_str().into()), root: "/".to_owned(), supply: Supply::Person };
        Sheet::read(Document::of_value(&bundle.settings), Layer::Managed, provenance, ground)
    };
    given.bundles.iter().map(read).collect()
}

fn flags(given: &Given, reader: FileReader<'_>) -> Vec<Sheet> {
    given.flags.iter().rev().map(|flag| reader.flag(flag)).collect()
}

#[derive(Clone, Copy)]
struct FileReader<'a> {
    workspace: &'a Workspace,
    given: &'a Given,
    open: Open<'a>,
    repository: Option<&'a Path>,
}

impl<'a> FileReader<'a> {
    fn ground(self) -> Ground<'a> {
        Ground { directory: &self.workspace.directory, home: self.workspace.home.as_deref() }
    }

    fn file(self, file: &SettingsFile) -> Option<Sheet> {
        let SettingsFile { layer, path, root } = file;
        let document = (self.open)(path).transpose()?;
        let mut supply = supply(*layer, self.given);
        if *layer == Layer::Local && (is_behind_a_link(path, root) || is_tracked(path, root, self.repository)) {
            let from_repository = Given { local: LocalAuthor::Repository, trust: self.given.trust, ..Given::default() };
            supply = self::supply(*layer, &from_repository);
        }
        let provenance = Provenance { file: Some(self.name(path).into()), root: text_of(root), supply };
        Some(self.sheet(document, Some(path.clone()), (*layer, provenance)))
    }

    fn flag(self, flag: &Flag) -> Sheet {
        let (document, file, path) = match flag {
            Flag::File(path) => {
                let path = Path::new(&self.workspace.directory).join(path);
                let missing = || Unreadable::Refused("there is no such file".to_owned());
                let document = (self.open)(&path).and_then(|found| found.ok_or_else(missing));
                (document, self.name(&path), Some(path))
            }
            Flag::Inline(text) => (Document::parse(text), "--settings".to_owned(), None),
        };
        let root = path.as_deref().and_then(Path::parent).map(text_of);
        let root = root.unwrap_or_else(|| self.workspace.directory.clone());
        let provenance = Provenance { file: Some(file.into()), root, supply: Supply::Person };
        self.sheet(document, path, (Layer::Flag, provenance))
    }

    fn sheet(
        self,
        document: Result<Document, Unreadable>,
        path: Option<PathBuf>,
        (layer, provenance): (Layer, Provenance),
    ) -> Sheet {
        match document {
            Ok(document) => Sheet { path, ..Sheet::read(document, layer, provenance, self.ground()) },
            Err(error) => Sheet::broken(&error, layer, provenance),
        }
    }

    /// The file as a person would name it: from the working directory, from home, or in full.
    fn name(self, path: &Path) -> String {
        let path = text_of(path);
        let below = |folder: &str| path.strip_prefix(folder)?.strip_prefix('/');
        if let Some(inside) = below(&self.workspace.directory) {
            return inside.to_owned();
        }
        match self.workspace.home.as_deref().and_then(below) {
            Some(inside) => ["~/", inside].concat(),
            None => path,
        }
    }
}

/// A folder that is a link, or a file that is one, may lead to what somebody else wrote.
fn is_behind_a_link(path: &Path, root: &Path) -> bool {
    let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
    path.ancestors().take_while(|part| *part != root).any(is_link)
}

pub(crate) fn text_of(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
