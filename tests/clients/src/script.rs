//! What the model is made to say: turns of tool calls, then a last word.

use serde_json::Value;

/// A tool call the model asks for.
#[derive(Clone, Debug)]
pub struct Use {
    /// Its name, by which the result is found again.
    pub id: String,
    /// The tool, as the agent names it.
    pub tool: String,
    /// Its input.
    pub input: Value,
}

impl Use {
    /// A call of a tool.
    pub fn new(id: &str, tool: &str, input: Value) -> Self {
        Self { id: id.to_owned(), tool: tool.to_owned(), input }
    }
}

/// The turns of a conversation, one answer of the model each.
pub type Turns = Vec<Vec<Use>>;

/// The turns of the lead's conversation, and of one it starts.
#[derive(Clone, Debug, Default)]
pub struct Script {
    lead: Turns,
    /// The words that open the other conversation, and its turns.
    child: Option<(String, Turns)>,
}

impl Script {
    /// One call a turn.
    pub fn one_by_one(uses: impl IntoIterator<Item = Use>) -> Self {
        Self { lead: uses.into_iter().map(|one| vec![one]).collect(), child: None }
    }

    /// All calls in one turn.
    pub fn at_once(uses: impl IntoIterator<Item = Use>) -> Self {
        Self { lead: vec![uses.into_iter().collect()], child: None }
    }

    /// A conversation that opens with these words is another agent's, and goes like this.
    #[must_use]
    pub fn with_child(mut self, opening: &str, uses: impl IntoIterator<Item = Use>) -> Self {
        self.child = Some((opening.to_owned(), uses.into_iter().map(|one| vec![one]).collect()));
        self
    }

    /// The turns of the conversation that opened like this.
    pub fn turns(&self, opening: &str) -> &[Vec<Use>] {
        match &self.child {
            Some((words, turns)) if opening.contains(words.as_str()) => turns,
            Some(_) | None => &self.lead,
        }
    }
}

/// The turn that comes next: the first with a call that has no result yet. Read from the conversation alone, so that
/// a request sent twice is answered alike.
pub fn next<'a>(turns: &'a [Vec<Use>], done: &[String]) -> Option<&'a [Use]> {
    turns.iter().find(|turn| turn.iter().any(|one| !done.contains(&one.id))).map(Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn call(id: &str) -> Use {
        Use::new(id, "Bash", json!({}))
    }

    #[test]
    fn a_turn_is_repeated_until_every_call_of_it_came_back() {
        let script = Script::at_once([call("a"), call("b")]);
        let ids = |done: &[&str]| {
            let done: Vec<String> = done.iter().map(|id| (*id).to_owned()).collect();
            next(script.turns(""), &done).map(<[Use]>::len)
        };
        assert_eq!(ids(&[]), Some(2));
        assert_eq!(ids(&["a"]), Some(2));
        assert_eq!(ids(&["a", "b"]), None);
    }

    #[test]
    fn a_conversation_is_known_by_its_opening() {
        let script = Script::one_by_one([call("a")]).with_child("errand", [call("b"), call("c")]);
        assert_eq!(script.turns("go").len(), 1);
        assert_eq!(script.turns("an errand for you").len(), 2);
    }
}
