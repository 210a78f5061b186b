//! Server-sent events, read from pieces of a body as they come.

use super::wire::LONGEST;

/// One event, as far as messages need it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) data: String,
    /// How many milliseconds to wait before coming back.
    pub(crate) retry: Option<u64>,
}

/// A stream of events, read piece by piece.
#[derive(Debug, Default)]
pub(crate) struct Events {
    line: Vec<u8>,
    event: Event,
    /// The last piece ended in a carriage return, so that a line feed right after it ends nothing.
    returned: bool,
}

/// An event is longer than anything that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event is longer than {} MiB", LONGEST >> 20)]
pub(crate) struct TooLong;

impl Events {
    /// Reads a piece, and gives the events that it completes.
    pub(crate) fn read(&mut self, piece: &[u8]) -> Result<Vec<Event>, TooLong> {
        let mut events = Vec::new();
        for byte in piece {
            let after_return = std::mem::replace(&mut self.returned, *byte == b'\r');
            match byte {
                b'\n' if after_return => {}
                b'\n' | b'\r' => events.extend(self.end_line()),
                other => self.line.push(*other),
            }
        }
        if self.line.len() + self.event.data.len() > LONGEST { Err(TooLong) } else { Ok(events) }
    }

    fn end_line(&mut self) -> Option<Event> {
        let line = String::from_utf8_lossy(&self.line).into_owned();
        self.line.clear();
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            return (event != Event::default()).then_some(event);
        }
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "data" => {
                if !self.event.data.is_empty() {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            "id" if !value.contains('\0') => self.event.id = Some(value.to_owned()),
            "retry" => self.event.retry = value.parse().ok(),
            // Comments, kinds of events, and what is not known yet.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(id: Option<&str>, data: &str) -> Event {
        Event { id: id.map(str::to_owned), data: data.to_owned(), retry: None }
    }

    #[test]
    fn events_are_the_same_however_they_are_cut() {
        let text = ": hello\r\n\r\nid: 1\r\nevent: message\r\ndata: {\"a\":\r\ndata: \"ü\"}\r\n\r\ndata:x\n\nid: 2\rdata: y\r\r";
        let expected = vec![event(Some("1"), "{\"a\":\n\"ü\"}"), event(None, "x"), event(Some("2"), "y")];
        for size in 1..text.len() {
            let mut events = Events::default();
            let read: Vec<Event> = text.as_bytes().chunks(size).flat_map(|piece| events.read(piece).unwrap()).collect();
            assert_eq!(read, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn an_event_that_was_not_finished_is_none() {
        assert_eq!(Events::default().read(b"data: {}\n"), Ok(Vec::new()));
    }
}
