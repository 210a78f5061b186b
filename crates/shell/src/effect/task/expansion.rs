//! What a task file says that a task runs, and the order of tasks that need each other.

/// The texts that a task runs, one for each shell that is started, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Expansion {
    pub(super) texts: Vec<String>,
    pub(super) extent: Extent,
}

/// Whether the texts are all that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Extent {
    /// They are.
    Whole,
    /// The project's code runs as well; the texts are what is known of it.
    Part,
}

impl Expansion {
    /// Nothing is known of it.
    pub(super) fn unread() -> Self {
        Self { texts: Vec::new(), extent: Extent::Part }
    }

    /// One after the other, where it is not known which of them runs.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.texts.extend(other.texts);
        Self { extent: Extent::Part, ..self }
    }

    /// The same, or less of it.
    pub(super) fn at_most(self, extent: Extent) -> Self {
        Self { extent: self.extent.max(extent), ..self }
    }
}

/// How many tasks may need each other.
const LIMIT: usize = 64;

/// A task, the tasks it needs before it, each once, and whether all of them were found.
pub(super) struct Order {
    pub(super) names: Vec<String>,
    pub(super) extent: Extent,
}

/// The order in which a task and what it needs run. A circle ends where it closes.
pub(super) fn order(start: &str, needs: &dyn Fn(&str) -> Option<Vec<String>>) -> Order {
    let mut order = Order { names: Vec::new(), extent: Extent::Whole };
    let mut seen = Vec::new();
    visit(start, needs, (&mut order, &mut seen));
    order
}

fn visit(name: &str, needs: &dyn Fn(&str) -> Option<Vec<String>>, (order, seen): (&mut Order, &mut Vec<String>)) {
    if seen.iter().any(|known| known == name) {
        return;
    }
    let Some(before) = needs(name).filter(|_| seen.len() < LIMIT) else {
        order.extent = Extent::Part;
        return;
    };
    seen.push(name.to_string());
    for need in before {
        visit(&need, needs, (order, seen));
    }
    order.names.push(name.to_string());
}

#[cfg(test)]
mod tests {
    use super::{Extent, order};

    #[test]
    fn each_runs_once_behind_its_needs() {
        let needs = |name: &str| match name {
            "a" => Some(vec!["b".to_string(), "c".to_string()]),
            "b" => Some(vec!["c".to_string()]),
            "c" => Some(Vec::new()),
            _ => None,
        };
        let found = order("a", &needs);
        assert_eq!((found.names.join(" ").as_str(), found.extent), ("c b a", Extent::Whole));
        assert_eq!(order("d", &needs).extent, Extent::Part);
    }

    #[test]
    fn a_circle_ends() {
        assert_eq!(order("a", &|_| Some(vec!["a".to_string()])).names, ["a"]);
    }
}
