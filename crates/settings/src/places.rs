//! Places: where settings lie. Finding them looks at the environment and the file system once; everything after
//! works on the paths found here, so a test can point each of them at a folder of its own.

use std::path::{Path, PathBuf};

use mayi_core::policy::Layer;

use crate::load::Trust;
use crate::trust::TrustStore;

/// Where settings lie.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// The working directory, where the project's settings are.
    pub directory: PathBuf,
    /// The user's home.
    pub home: Option<PathBuf>,
    /// The root of the repository, where the person's own settings for it are; the working directory when `None`.
    pub repository: Option<PathBuf>,
    /// The user's settings files, strongest first.
    pub user: Vec<PathBuf>,
    /// Folders with the organisation's settings, strongest first.
    pub managed: Vec<ManagedFolder>,
    /// mayi's own state: trust, sessions, audit.
    pub state: Option<PathBuf>,
    /// Whether all of this could be found out.
    pub found: Found,
}

/// Whether the places of a machine could be found out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Found {
    /// They were, or somebody chose them.
    #[default]
    All,
    /// Nobody knows the user's home, so nobody knows what the settings there deny.
    NoHome,
}

/// A folder with the organisation's settings: a file, and a folder of drop-ins that are read after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManagedFolder {
    /// The file.
    pub file: PathBuf,
    /// The folder of drop-ins.
    pub drop_ins: PathBuf,
}

impl ManagedFolder {
    fn mayi(folder: &str) -> Self {
        let folder = Path::new(folder);
        Self { file: folder.join("managed.json"), drop_ins: folder.join("managed.d") }
    }

    fn claude(folder: &str) -> Self {
        let folder = Path::new(folder);
        Self { file: folder.join("managed-settings.json"), drop_ins: folder.join("managed-settings.d") }
    }

    /// Its files, strongest first: later drop-ins win scalars.
    fn files(&self) -> Vec<SettingsFile> {
        let mut files = drop_in_files(&self.drop_ins);
        files.reverse();
        files.push(self.file.clone());
        files.iter().map(|path| beside(Layer::Managed, path)).collect()
    }
}

/// A settings file that may or may not be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsFile {
    /// Its layer.
    pub layer: Layer,
    /// Where it is.
    pub path: PathBuf,
    /// What `/p` in its rules starts from.
    pub root: PathBuf,
}

/// Our own folder in a project.
const OWN: &str = ".mayi";
/// The file names in a project, mayi's own first.
const PROJECT: [&str; 2] = [".mayi/settings.json", ".claude/settings.json"];
const LOCAL: [&str; 2] = [".mayi/settings.local.json", ".claude/settings.local.json"];

impl Places {
    /// The places of this machine for a working directory.
    pub fn of_this_machine(directory: &Path) -> Self {
        // A slash at the end, or `..` within, would keep the same place from being recognised.
        let clean = directory.to_str().filter(|text| text.starts_with('/')).map(mayi_core::path::clean);
        let directory = &clean.map_or_else(|| directory.to_owned(), PathBuf::from);
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = variable("HOME").or_else(|| variable("USERPROFILE")).or_else(home_of_account);
        let below_home = |path: &str| home.as_ref().map(|home| home.join(path));
        let config = variable("XDG_CONFIG_HOME").or_else(|| below_home(".config"));
        let claude = variable("CLAUDE_CONFIG_DIR").or_else(|| below_home(".claude"));
        let state = variable("XDG_STATE_HOME").or_else(|| below_home(".local/state"));
        Self {
            directory: directory.to_owned(),
            repository: repository_of(directory, home.as_deref()),
            user: [
                config.map(|folder| folder.join("mayi/settings.json")),
                claude.map(|folder| folder.join("settings.json")),
            ]
            .into_iter()
            .flatten()
            .collect(),
            managed: managed_folders(),
            state: state.map(|folder| folder.join("mayi")),
            found: if home.is_some() { Found::All } else { Found::NoHome },
            home,
        }
    }

    /// Whether the person trusts the folder. What cannot be found out is not trusted.
    pub fn trust(&self) -> Trust {
        let store = self.state.as_deref().map(TrustStore::in_folder);
        store.and_then(|store| store.trust_of(&self.directory).ok()).unwrap_or_default()
    }

    /// Every settings file that is looked for, strongest first. The organisation's drop-ins are found when read.
    pub fn files(&self) -> Vec<SettingsFile> {
        let mut files = self.managed_files();
        files.extend(self.project_and_user_files());
        files
    }

    /// The folders that may have settings of the project, each once: the repository's and the working directory.
    fn roots(&self) -> impl Iterator<Item = &PathBuf> {
        let further = (self.repository.as_ref() != Some(&self.directory)).then_some(&self.directory);
        self.repository.iter().chain(further)
    }

    fn project_and_user_files(&self) -> Vec<SettingsFile> {
        let mut files = Vec::new();
        for root in self.roots() {
            files.extend(LOCAL.iter().map(|name| in_project(Layer::Local, root, name)));
        }
        files.extend(PROJECT.iter().map(|name| in_project(Layer::Project, &self.directory, name)));
        files.extend(self.user.iter().map(|path| beside(Layer::User, path)));
        files
    }

    fn managed_files(&self) -> Vec<SettingsFile> {
        self.managed.iter().flat_map(ManagedFolder::files).collect()
    }

    /// Those of the files that can be there, strongest first. Most machines have no folder of an organisation and most
    /// projects none of ours: such a folder is looked for once, not once for each of its files.
    pub(crate) fn files_within_reach(&self) -> Vec<SettingsFile> {
        let is_there = |folder: &&ManagedFolder| {
            let above = folder.file.parent().filter(|above| folder.drop_ins.parent() == Some(above));
            above.is_none_or(|above| !is_absent(above))
        };
        let mut files: Vec<SettingsFile> =
            self.managed.iter().filter(is_there).flat_map(ManagedFolder::files).collect();
        let absent: Vec<PathBuf> = self.roots().map(|root| root.join(OWN)).filter(|own| is_absent(own)).collect();
        let can_be_there = |file: &SettingsFile| !absent.iter().any(|own| file.path.parent() == Some(own));
        files.extend(self.project_and_user_files().into_iter().filter(can_be_there));
        files
    }

    /// Everything of mayi's own that nobody may write without a person's word.
    pub fn protected(&self) -> Vec<PathBuf> {
        let files = self.project_and_user_files().into_iter().map(|file| file.path);
        // A folder protects everything in it.
        let managed = self.managed.iter().flat_map(|folder| [folder.file.clone(), folder.drop_ins.clone()]);
        managed.chain(files).chain(self.state.clone()).collect()
    }

    /// The file that answers are saved to, for a layer that can be written.
    pub fn writable(&self, layer: Layer) -> Option<PathBuf> {
        // A link that leads nowhere is there, too: writing beside it would leave two files that disagree.
        let is_there = |file: &&PathBuf| file.symlink_metadata().is_ok();
        let pick = |files: Vec<PathBuf>| files.iter().find(is_there).or(files.first()).cloned();
        match layer {
            Layer::Local => {
                let root = self.repository.as_ref().unwrap_or(&self.directory);
                pick(LOCAL.iter().map(|name| root.join(name)).collect())
            }
            Layer::Project => pick(PROJECT.iter().map(|name| self.directory.join(name)).collect()),
            Layer::User => pick(self.user.clone()),
            Layer::Managed | Layer::Flag | Layer::Cli | Layer::Command | Layer::Session => None,
        }
    }
}

/// The home that the system's list of users names. An agent that was started without `HOME` still works for somebody.
fn home_of_account() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| home.is_absolute())
}

/// Whether nothing is at a place, not even a link that leads nowhere. What cannot be looked at may be there.
fn is_absent(place: &Path) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    place.symlink_metadata().is_err_and(|error| matches!(error.kind(), NotFound | NotADirectory))
}

fn in_project(layer: Layer, root: &Path, name: &str) -> SettingsFile {
    SettingsFile { layer, path: root.join(name), root: root.to_owned() }
}

fn beside(layer: Layer, path: &Path) -> SettingsFile {
    SettingsFile { layer, path: path.to_owned(), root: path.parent().unwrap_or(Path::new("/")).to_owned() }
}

/// The drop-ins of a folder in the order of their names; hidden files are left out. A folder that cannot be listed
/// stands for its files: reading it then fails, and what the organisation denies counts as unknown.
fn drop_in_files(folder: &Path) -> Vec<PathBuf> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
        Err(_) => return vec![folder.to_owned()],
    };
    let is_drop_in = |path: &PathBuf| {
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        !hidden && path.extension().is_some_and(|extension| extension == "json")
    };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_drop_in).collect();
    files.sort();
    files
}

fn managed_folders() -> Vec<ManagedFolder> {
    if cfg!(target_os = "macos") {
        let claude = ManagedFolder::claude("/Library/Application Support/ClaudeCode");
        vec![ManagedFolder::mayi("/Library/Application Support/mayi"), claude]
    } else if cfg!(windows) {
        vec![ManagedFolder::mayi(r"C:\ProgramData\mayi"), ManagedFolder::claude(r"C:\Program Files\ClaudeCode")]
    } else {
        vec![ManagedFolder::mayi("/etc/mayi"), ManagedFolder::claude("/etc/claude-code")]
    }
}

/// The root of the repository around a directory. Home is no repository, and one that belongs to somebody else is not
/// this person's: then their own settings stay in the working directory.
pub fn repository_of(directory: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let root = directory.ancestors().find(|folder| folder.join(".git").exists())?;
    let is_home = home.is_some_and(|home| home == root);
    (!cfg!(windows) && !is_home && same_owner(root, home)).then(|| root.to_owned())
}

#[cfg(unix)]
fn same_owner(folder: &Path, home: Option<&Path>) -> bool {
    use std::os::unix::fs::MetadataExt;
    let owner = |path: &Path| std::fs::metadata(path).ok().map(|metadata| metadata.uid());
    home.is_none_or(|home| owner(home) == owner(folder))
}

#[cfg(not(unix))]
fn same_owner(_folder: &Path, _home: Option<&Path>) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_in_the_order_of_their_strength() {
        let folder = tempfile::tempdir().unwrap();
        let managed = folder.path().join("etc/mayi");
        std::fs::create_dir_all(managed.join("managed.d")).unwrap();
        for name in ["20-b.json", "10-a.json", ".hidden.json", "notes.txt"] {
            std::fs::write(managed.join("managed.d").join(name), "{}").unwrap();
        }
        let places = Places {
            directory: "/r/sub".into(),
            repository: Some("/r".into()),
            user: vec!["/h/.config/mayi/settings.json".into(), "/h/.claude/settings.json".into()],
            managed: vec![ManagedFolder::mayi(&managed.to_string_lossy())],
            ..Places::default()
        };
        let shown: Vec<String> = places
            .files()
            .iter()
            .map(|file| format!("{} {}", file.layer, file.path.strip_prefix(&managed).unwrap_or(&file.path).display()))
            .collect();
        assert_eq!(
            shown,
            [
                "managed managed.d/20-b.json",
                "managed managed.d/10-a.json",
                "managed managed.json",
                "local /r/.mayi/settings.local.json",
                "local /r/.claude/settings.local.json",
                "local /r/sub/.mayi/settings.local.json",
                "local /r/sub/.claude/settings.local.json",
                "project /r/sub/.mayi/settings.json",
                "project /r/sub/.claude/settings.json",
                "user /h/.config/mayi/settings.json",
                "user /h/.claude/settings.json",
            ]
        );
        assert!(
            places
                .files()
                .iter()
                .filter(|file| file.layer == Layer::User)
                .all(|file| file.root == file.path.parent().unwrap())
        );
    }

    #[test]
    fn files_in_absent_folders_are_not_within_reach() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let places = Places {
            directory: at("r"),
            repository: Some(at("r")),
            user: vec![at("h/settings.json")],
            managed: ["absent", "there"].map(|name| ManagedFolder::mayi(&at(name).to_string_lossy())).into(),
            ..Places::default()
        };
        let within_reach = || -> Vec<String> {
            let files = places.files_within_reach();
            let inside = |file: &SettingsFile| file.path.strip_prefix(folder.path()).unwrap().display().to_string();
            files.iter().map(inside).collect()
        };
        std::fs::create_dir_all(at("there/managed.d")).unwrap();
        std::fs::write(at("there/managed.d/1.json"), "{}").unwrap();
        let claude = ["r/.claude/settings.local.json", "r/.claude/settings.json", "h/settings.json"];
        assert_eq!(within_reach(), [&["there/managed.d/1.json", "there/managed.json"], &claude[..]].concat());
        // Only what is surely absent is passed by.
        std::fs::create_dir(at("r")).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(at("nowhere"), at("r/.mayi")).unwrap();
        #[cfg(not(unix))]
        std::fs::create_dir(at("r/.mayi")).unwrap();
        assert_eq!(within_reach().len(), places.files().len() - 1);
    }

    /// Nobody knows what the user's settings deny, so everything asks; what others allow does not change that.
    #[test]
    fn where_nobody_knows_the_home_everything_asks_and_says_so() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("managed.json"), r#"{"permissions": {"allow": ["Bash"]}}"#).unwrap();
        let managed = vec![ManagedFolder::mayi(&folder.path().to_string_lossy())];
        let places = Places { directory: "/w".into(), managed, ..Places::default() };
        let broken = |places: &Places| crate::load(places, &crate::Given::default()).policy.options.broken.clone();
        assert_eq!(broken(&places), []);
        let broken = broken(&Places { found: Found::NoHome, ..places });
        let words = broken.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(words, ["user settings in a home directory that is not known"]);
    }

    #[test]
    fn home_is_no_repository() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("a/b");
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::create_dir(folder.path().join(".git")).unwrap();
        assert_eq!(repository_of(&inside, None).as_deref(), Some(folder.path()));
        assert_eq!(repository_of(&inside, Some(folder.path())), None);
    }
}
