//! A machine of its own: settings, state and project in a folder, and a desk for each question.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use mayi_core::call::Call;
use mayi_core::mode::Mode;
use mayi_core::session::Attendance;
use mayi_engine::desk::{Answered, Asked, Desk, Manner, Turn};
use mayi_engine::remote::client::Client;
use mayi_engine::remote::{self, Haste, Served};
use mayi_settings::{Given, Places};
use serde_json::{Value, json};

use crate::counterpart::{Counterpart, TOKEN};

pub(crate) struct World {
    folder: tempfile::TempDir,
}

impl World {
    /// A machine whose person names this server, and says this about it beside.
    pub(crate) fn of(server: &Counterpart, beside: Value) -> Self {
        let mut settings = json!({"server": {"url": server.url()}});
        settings["server"].as_object_mut().unwrap().extend(beside.as_object().unwrap().clone());
        Self::with(&settings)
    }

    pub(crate) fn with(settings: &Value) -> Self {
        let world = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir_all(world.path("project/.mayi")).unwrap();
        world.set(settings);
        world
    }

    pub(crate) fn set(&self, settings: &Value) {
        fs::write(self.path("user.json"), settings.to_string()).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn places(&self) -> Places {
        Places {
            directory: self.path("project"),
            home: Some(self.folder.path().to_owned()),
            user: vec![self.path("user.json")],
            state: Some(self.path("state")),
            ..Places::default()
        }
    }

    pub(crate) fn served(&self, haste: Haste) -> Served {
        remote::load(&self.places(), &Given::default(), haste)
    }

    pub(crate) fn desk(&self, manner: Manner) -> Desk {
        let Served { loaded, server } = self.served(Haste::Answer);
        Desk::once(self.places(), loaded, manner).serving(server)
    }

    /// A new desk each time, as each hook call is a new process.
    pub(crate) fn ask(&self, asked: &Asked, manner: Manner) -> Answered {
        self.desk(manner).decided(asked).unwrap()
    }

    pub(crate) fn audit(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.path("state/audit.jsonl")).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}

pub(crate) fn asked(command: &str) -> Asked {
    Asked {
        agent: "generic".to_owned(),
        session: "s".to_owned(),
        child: None,
        call: Call::shell(command),
        call_id: Some(format!("id of {command}")),
        mode: Some(Mode::Default),
        transcript: None,
        event: "before".to_owned(),
        turn: Turn::First,
    }
}

pub(crate) fn attended() -> Manner {
    Manner { patience: Some(std::time::Duration::from_secs(20)), ..Manner::default() }
}

pub(crate) fn unattended() -> Manner {
    Manner { attendance: Attendance::Unattended, ..attended() }
}

/// A client with the token, or with another.
pub(crate) fn client(url: &str, token: Option<&str>) -> Client {
    let folder = tempfile::tempdir().unwrap();
    let mut environment: Vec<(OsString, OsString)> = vec![("HOME".into(), folder.path().into())];
    environment.extend(token.map(|token| ("MAYI_SERVER_TOKEN".into(), token.into())));
    let settings = serde_json::from_value(json!({"server": {"url": url}, "identity": {"store": "file"}})).unwrap();
    Client::of(&settings, &environment).unwrap().unwrap()
}

pub(crate) fn good(server: &Counterpart) -> Client {
    client(&server.url(), Some(TOKEN))
}
