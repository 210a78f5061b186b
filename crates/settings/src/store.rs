//! The settings in force while a session or a server runs. A change on disk is picked up before the next decision; a
//! broken edit leaves that file's last good text in force, loudly; the policy is swapped whole.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use mayi_core::policy::{Layer, Origin};

use crate::document::{Document, Kept, Unreadable};
use crate::load::{self, Bundle, Flag, Given, Loaded};
use crate::places::Places;
use crate::problem::{Code, Problem};

/// The settings in force.
#[derive(Debug)]
pub struct Store {
    places: Places,
    given: RwLock<Given>,
    state: RwLock<State>,
    /// One reload at a time.
    reloading: Mutex<()>,
}

#[derive(Debug)]
struct State {
    stamps: Stamps,
    loaded: Arc<Loaded>,
}

/// What tells one state of a file from another; `None` when it is not there.
type Stamps = HashMap<PathBuf, Option<Stamp>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    size: u64,
    modified: Option<SystemTime>,
    /// Device, file number, and when its entry changed: a file that was swapped for another of the same size.
    #[cfg(unix)]
    identity: (u64, u64, i64, i64),
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok()?;
        Some(Self {
            size: metadata.len(),
            modified: metadata.modified().ok(),
            #[cfg(unix)]
            identity: {
                use std::os::unix::fs::MetadataExt;
                (metadata.dev(), metadata.ino(), metadata.ctime(), metadata.ctime_nsec())
            },
        })
    }
}

/// The last good text of every file, and the errors of the present ones.
#[derive(Default)]
struct Fallback {
    good: HashMap<PathBuf, Arc<Kept>>,
    stale: Vec<(PathBuf, Unreadable)>,
}

impl Store {
    /// Loads the settings for the first time.
    pub fn open(places: Places, given: Given) -> Self {
        let stamps = stamps(&places, &given);
        let loaded = Arc::new(load::load(&places, &given));
        let (given, state) = (RwLock::new(given), RwLock::new(State { stamps, loaded }));
        Self { places, given, state, reloading: Mutex::new(()) }
    }

    /// Puts managed settings that are no files in the place of those there were, such as a server's bundle.
    pub fn govern(&self, bundles: Vec<Bundle>) {
        {
            let mut given = self.given.write().unwrap_or_else(PoisonError::into_inner);
            if given.bundles == bundles {
                return;
            }
            given.bundles = bundles;
        }
        self.replace(self.stamps());
    }

    /// Where its files are.
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// The settings in force, without looking at the disk.
    pub fn current(&self) -> Arc<Loaded> {
        Arc::clone(&self.state.read().unwrap_or_else(PoisonError::into_inner).loaded)
    }

    /// The settings in force now: looks whether a file changed, and if so, loads all of them anew. Cheap when none
    /// did.
    pub fn refresh(&self) -> Arc<Loaded> {
        let now = self.stamps();
        let unchanged = |state: &State| state.stamps == now;
        {
            let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
            if unchanged(&state) {
                return Arc::clone(&state.loaded);
            }
        }
        self.replace(now)
    }

    /// Loads everything anew. The stamps were taken before the files are read, so a change in between shows at the next
    /// refresh.
    fn replace(&self, stamps: Stamps) -> Arc<Loaded> {
        let _turn = self.reloading.lock().unwrap_or_else(PoisonError::into_inner);
        let loaded = Arc::new(self.reload());
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        *state = State { stamps, loaded: Arc::clone(&loaded) };
        loaded
    }

    fn stamps(&self) -> Stamps {
        stamps(&self.places, &self.given.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn reload(&self) -> Loaded {
        let before = self.current();
        let fallback = Mutex::new(Fallback { good: good_documents(&before), stale: Vec::new() });
        let open = |path: &Path| {
            let mut fallback = fallback.lock().unwrap_or_else(PoisonError::into_inner);
            match Document::open(path) {
                Ok(found) => Ok(found),
                Err(error) => match fallback.good.get(path).map(|kept| kept.document()) {
                    Some(good) => {
                        fallback.stale.push((path.to_owned(), error));
                        Ok(Some(good))
                    }
                    None => Err(error),
                },
            }
        };
        let given = self.given.read().unwrap_or_else(PoisonError::into_inner).clone();
        let mut loaded = load::load_with(&self.places, &given, &open);
        let fallback = fallback.into_inner().unwrap_or_else(PoisonError::into_inner);
        loaded.found.extend(fallback.stale.iter().map(|(path, error)| stale(path, error, self.layer_of(path))));
        loaded
    }

    /// The layer of a file. What is none of the places' files was named by `--settings`.
    fn layer_of(&self, path: &Path) -> Layer {
        self.places.files().iter().find(|file| file.path == path).map_or(Layer::Flag, |file| file.layer)
    }
}

fn good_documents(loaded: &Loaded) -> HashMap<PathBuf, Arc<Kept>> {
    loaded.read.iter().filter_map(|read| Some((read.path.clone()?, Arc::clone(&read.document)))).collect()
}

fn stale(path: &Path, error: &Unreadable, layer: Layer) -> Problem {
    let file = load::text_of(path);
    let origin = Origin { file: Some(file.as_str().into()), ..Origin::of(layer) };
    let problem = Problem::new(Code::StaleSettings, origin, format!("the last good settings stay in force: {error}"));
    let problem = problem.fix("mend the file; until then its changes do not count");
    match error {
        Unreadable::NotJson { place, text, .. } => {
            let mut problem = problem.shown(text, *place);
            (problem.origin.line, problem.origin.column) = (place.line, place.column);
            problem
        }
        Unreadable::Empty
        | Unreadable::NotText { .. }
        | Unreadable::TooLarge
        | Unreadable::NotFile
        | Unreadable::Refused(_) => problem,
    }
}

/// The state of every file that is or could be read.
fn stamps(places: &Places, given: &Given) -> Stamps {
    let flags = given.flags.iter().filter_map(|flag| match flag {
        Flag::File(path) => Some(places.directory.join(path)),
        Flag::Inline(_) => None,
    });
    let files = places.files().into_iter().map(|file| file.path);
    let folders = places.managed.iter().map(|folder| folder.drop_ins.clone());
    files.chain(folders).chain(flags).map(|path| (path.clone(), Stamp::of(&path))).collect()
}

/// A thread that refreshes a store until it is dropped.
#[derive(Debug)]
pub struct Watch {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Looks every so often, and tells of each new state.
    pub fn start(store: Arc<Store>, every: Duration, mut tell: impl FnMut(Arc<Loaded>) + Send + 'static) -> Self {
        let (stop, stopped) = channel::<()>();
        let thread = std::thread::spawn(move || {
            let mut known = store.current();
            while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                let now = store.refresh();
                if !Arc::ptr_eq(&known, &now) {
                    known = Arc::clone(&now);
                    tell(now);
                }
            }
        });
        Self { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has nothing left to stop.
            let _ = thread.join();
        }
    }
}
