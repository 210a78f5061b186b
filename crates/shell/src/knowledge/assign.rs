//! Gives operands their roles once all words are read, and settles what is done without them.

use crate::knowledge::holes;
use crate::knowledge::model::{Count, Deed, Operand, Role, Surprises};
use crate::knowledge::reading::{Cursor, Fault, Piece, Reading};

impl<'w> Cursor<'w> {
    fn given(&self) -> bool {
        self.reading.deeds.iter().any(|(deed, _)| *deed == Deed::Given)
    }

    pub(crate) fn finish(mut self) -> Reading<'w> {
        let stop = self.reading.deeds.iter().any(|(deed, _)| *deed == Deed::Stop);
        if stop || self.lost {
            self.reading.default = None;
            return self.reading;
        }
        let all = &self.reading.spec.operands;
        let places = if self.given() { all.get(1..).unwrap_or_default() } else { all };
        self.assign(places);
        self.settle_default();
        if self.reading.deeds.iter().any(|(deed, _)| *deed == Deed::Instead) {
            return self.reading;
        }
        let span = self.line.words.first().map(|word| word.span).unwrap_or_default();
        for deed in self.reading.spec.does.iter() {
            self.reading.deeds.push((*deed, span));
        }
        self.reading
    }

    fn settle_default(&mut self) {
        let mut default = self.reading.spec.default.or(self.reading.default);
        for (deed, _) in &self.reading.deeds {
            if let Deed::Default(role) = deed {
                default = Some(*role);
            }
        }
        // Operands are in the order of the words, so that a line of thousands of them stays cheap.
        let is_operand = |index: usize| self.operands.binary_search_by_key(&index, |piece| piece.index).is_ok();
        let named = self.reading.items.iter().any(|item| names_place(item.role) && is_operand(item.piece.index));
        self.reading.default = default.filter(|_| !named);
    }

    /// Gives every operand its role: places from the left, the repeated one takes what is left over.
    fn assign(&mut self, places: &'static [Operand]) {
        let needed = places.iter().filter(|place| matches!(place.count, Count::One | Count::Some)).count();
        let mut spare = match self.operands.len().checked_sub(needed) {
            Some(spare) => spare,
            None => return self.fail_operands(),
        };
        let become_role = self.override_role();
        let repeated = places.iter().find(|place| matches!(place.count, Count::Any | Count::Some));
        let operands = std::mem::take(&mut self.operands);
        let mut rest = operands.iter().copied();
        for place in places {
            let takes = match place.count {
                Count::One => 1,
                Count::Optional => {
                    let takes = spare.min(1);
                    spare -= takes;
                    takes
                }
                Count::Any => std::mem::take(&mut spare),
                Count::Some => 1 + std::mem::take(&mut spare),
            };
            let many = matches!(place.count, Count::Any | Count::Some);
            let role = become_role.filter(|_| names_place(place.role)).unwrap_or(place.role);
            for piece in rest.by_ref().take(takes) {
                self.item(role, piece);
                if matches!(role, Role::Command | Role::Remote) {
                    self.operands = operands;
                    return;
                }
                if !many {
                    let other =
                        repeated.map(|place| become_role.filter(|_| names_place(place.role)).unwrap_or(place.role));
                    self.check_count(piece, role, other);
                }
            }
        }
        let left = rest.next().is_some();
        self.operands = operands;
        if left {
            self.fail_operands();
        }
    }

    /// A word that may come out as several, in a place that takes one, pushes the others along.
    fn check_count(&mut self, piece: Piece<'w>, role: Role, repeated: Option<Role>) {
        if !holes::can_multiply(piece.word) {
            return;
        }
        match repeated {
            Some(other) if self.reading.spec.surprises == Surprises::Harmless && other != role => {
                self.item(other, piece);
            }
            Some(other) if other == role => {}
            None if self.reading.spec.surprises == Surprises::Harmless => {}
            Some(_) | None => self.fail(Fault::Surprise, piece.word.span),
        }
    }

    fn fail_operands(&mut self) {
        let span = self
            .operands
            .last()
            .map_or_else(|| self.line.words.first().map(|word| word.span).unwrap_or_default(), |piece| piece.word.span);
        self.fail(Fault::Operands, span);
    }

    /// The role flags give to operands; of several the most harmful, unless nothing goes anywhere but to the output.
    fn override_role(&self) -> Option<Role> {
        if self.reading.deeds.iter().any(|(deed, _)| *deed == Deed::Stdout) {
            return Some(Role::Read);
        }
        let roles = self.reading.deeds.iter().filter_map(|(deed, _)| {
            let Deed::Operands(role) = deed else { return None };
            Some(*role)
        });
        roles.max_by_key(|role| harm(*role))
    }
}

fn harm(role: Role) -> u8 {
    match role {
        Role::Data | Role::Number | Role::Name | Role::Choice(_) => 0,
        Role::List | Role::Directory => 1,
        Role::Read | Role::File => 2,
        Role::Fetch => 3,
        Role::Write
        | Role::Edit
        | Role::Remove
        | Role::Send
        | Role::Script
        | Role::Command
        | Role::Remote
        | Role::Source
        | Role::Load
        | Role::Run
        | Role::Code(_)
        | Role::Variable
        | Role::Environment
        | Role::Change
        | Role::System
        | Role::Task
        | Role::Pathspec
        | Role::Refuse => 4,
    }
}

/// Whether a role means something outside the command line, rather than a setting or a pattern.
fn names_place(role: Role) -> bool {
    !matches!(
        role,
        Role::Data
            | Role::Pathspec
            | Role::Name
            | Role::Number
            | Role::Choice(_)
            | Role::Code(_)
            | Role::Variable
            | Role::Environment
    )
}
