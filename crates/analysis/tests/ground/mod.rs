//! A machine of its own for tests: settings, state and project in a folder, and a desk that records there.
#![allow(dead_code, reason = "each test binary uses its part")]

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use mayi_core::call::Call;
use mayi_core::mode::Mode;
use mayi_core::session::Attendance;
use mayi_engine::audit::{Reader, Record, Recorded};
use mayi_engine::desk::{Answered, Asked, Desk, Manner, Turn};
use mayi_settings::{Given, Loaded, Places, load};
use serde_json::Value;

pub(crate) struct Ground {
    folder: tempfile::TempDir,
}

impl Ground {
    pub(crate) fn new(settings: &Value) -> Self {
        let ground = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir_all(ground.path("project")).unwrap();
        ground.set(settings);
        ground
    }

    pub(crate) fn set(&self, settings: &Value) {
        fs::write(self.path("user.json"), settings.to_string()).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn places(&self) -> Places {
        Places {
            directory: self.path("project"),
            home: Some(self.path("home")),
            user: vec![self.path("user.json")],
            state: Some(self.path("state")),
            ..Places::default()
        }
    }

    pub(crate) fn loaded(&self) -> Arc<Loaded> {
        Arc::new(load(&self.places(), &Given::default()))
    }

    pub(crate) fn ask(&self, call: Call, mode: Mode, attendance: Attendance) -> Answered {
        let manner = Manner { attendance, ..Manner::default() };
        let desk = Desk::once(self.places(), load(&self.places(), &Given::default()), manner);
        let call_id = call.text("command").map(str::to_owned);
        let asked = Asked {
            agent: "generic".to_owned(),
            session: "s".to_owned(),
            child: None,
            call,
            call_id,
            mode: Some(mode),
            transcript: None,
            event: "before".to_owned(),
            turn: Turn::First,
        };
        desk.decided(&asked).unwrap()
    }

    pub(crate) fn recorded(&self) -> Vec<Recorded> {
        let decisions = Reader::of(&self.path("state/audit.jsonl")).filter_map(|read| match read.unwrap().1 {
            Record::Decision(recorded) => Some(*recorded),
            Record::Answer(_) | Record::Other(_) => None,
        });
        decisions.collect()
    }
}
