//! Compound commands, `function` and `coproc`.

use super::cursor::{Parsed, Parser};
use super::keyword::Keyword;
use super::tree::{Arm, Compound, CompoundKind, Content, For, List, Piece, Stage, Word};
use crate::word::Span;

impl Parser<'_> {
    /// One stage of a pipeline.
    pub(super) fn stage(&mut self) -> Parsed<Stage> {
        if let Some(compound) = self.compound()? {
            return Ok(Stage::Compound(Box::new(compound)));
        }
        self.refuse_ambiguous_negation()?;
        match self.peek_keyword() {
            Some((Keyword::Function, end)) => {
                self.position = end;
                self.deeper(Self::function)
            }
            Some((Keyword::Coproc, end)) => {
                self.position = end;
                self.deeper(Self::coprocess)
            }
            Some((keyword, _)) if keyword != Keyword::In => Err(self.syntax("a command")),
            Some(_) | None => self.simple(),
        }
    }

    /// `!(…)` where a command may start is a negated subshell, or a pattern when extended globs are on; which
    /// of them the text alone does not tell.
    fn refuse_ambiguous_negation(&mut self) -> Parsed<()> {
        if self.peek() == Some(b'!') && self.peek_second() == Some(b'(') {
            return Err(self.syntax("a blank between `!` and `(`"));
        }
        Ok(())
    }

    /// The compound command that starts here, with its redirections.
    pub(super) fn compound(&mut self) -> Parsed<Option<Compound>> {
        self.peek();
        let start = self.position;
        let Some(kind) = self.deeper(Self::compound_kind)? else { return Ok(None) };
        self.count_command()?;
        let end = self.position;
        let redirects = self.redirects()?;
        let end = redirects.last().map_or(end, |redirect| redirect.span.end);
        Ok(Some(Compound { span: Span { start, end }, kind, redirects }))
    }

    fn compound_kind(&mut self) -> Parsed<Option<CompoundKind>> {
        if self.peek() == Some(b'(') {
            return self.parentheses().map(Some);
        }
        let Some((keyword, end)) = self.peek_keyword() else { return Ok(None) };
        let start = self.position;
        self.position = end;
        let kind = match keyword {
            Keyword::If => self.conditional()?,
            Keyword::While | Keyword::Until => {
                let condition = self.body()?;
                CompoundKind::Loop(condition, self.do_group()?)
            }
            Keyword::For => self.for_loop()?,
            Keyword::Select => self.for_in()?,
            Keyword::Case => self.case()?,
            Keyword::Open => {
                let list = self.body()?;
                self.expect(Keyword::Close, "`}`")?;
                CompoundKind::Group(list)
            }
            Keyword::Condition => self.condition()?,
            Keyword::Then | Keyword::Elif | Keyword::Else | Keyword::Fi | Keyword::Do | Keyword::Done => {
                return self.no_compound(start);
            }
            Keyword::Esac | Keyword::In | Keyword::Function | Keyword::Coproc | Keyword::Time => {
                return self.no_compound(start);
            }
            Keyword::Close | Keyword::Bang => return self.no_compound(start),
        };
        Ok(Some(kind))
    }

    fn no_compound(&mut self, start: usize) -> Parsed<Option<CompoundKind>> {
        self.position = start;
        Ok(None)
    }

    fn expect(&mut self, keyword: Keyword, name: &str) -> Parsed<()> {
        if self.eat_keyword(keyword) { Ok(()) } else { Err(self.syntax(name)) }
    }

    /// `((…))` or `( … )`.
    fn parentheses(&mut self) -> Parsed<CompoundKind> {
        if self.peek_second() == Some(b'(') {
            let start = self.position;
            if let Some(inner) = self.double_parentheses()? {
                return Ok(CompoundKind::Arithmetic(self.expression(inner, b"")?));
            }
            self.position = start;
        }
        let start = self.position;
        self.bump();
        let list = self.body()?;
        if !self.eat(b')') {
            return Err(self.syntax_from(start, "`)` for an open `(`"));
        }
        Ok(CompoundKind::Subshell(list))
    }

    fn conditional(&mut self) -> Parsed<CompoundKind> {
        let mut branches = Vec::new();
        loop {
            let condition = self.body()?;
            self.expect(Keyword::Then, "`then`")?;
            branches.push((condition, self.body()?));
            if self.eat_keyword(Keyword::Elif) {
                continue;
            }
            let otherwise = if self.eat_keyword(Keyword::Else) { Some(self.body()?) } else { None };
            self.expect(Keyword::Fi, "`fi`")?;
            return Ok(CompoundKind::If(branches, otherwise));
        }
    }

    fn do_group(&mut self) -> Parsed<List> {
        self.expect(Keyword::Do, "`do`")?;
        let list = self.body()?;
        self.expect(Keyword::Done, "`done`")?;
        Ok(list)
    }

    /// The body of `for` and `select`: `do … done`, or braces.
    fn loop_body(&mut self) -> Parsed<List> {
        self.skip_newlines()?;
        if self.eat_keyword(Keyword::Open) {
            let list = self.body()?;
            self.expect(Keyword::Close, "`}`")?;
            return Ok(list);
        }
        self.do_group()
    }

    fn for_loop(&mut self) -> Parsed<CompoundKind> {
        self.skip_blanks();
        if self.peek() != Some(b'(') {
            return self.for_in();
        }
        if self.peek_second() != Some(b'(') {
            return Err(self.syntax("`((`"));
        }
        let Some(inner) = self.double_parentheses()? else { return Err(self.syntax("`))`")) };
        let header = self.expression(inner, b";")?;
        let separators =
            |piece: &Piece| if let Piece::Bare(span) = piece { self.slice(*span).matches(';').count() } else { 0 };
        if header.pieces.iter().map(separators).sum::<usize>() != 2 {
            return Err(self.syntax_from(inner.start, "three expressions between `((` and `))`"));
        }
        self.skip_blanks();
        if self.peek() == Some(b';') {
            self.bump();
        }
        Ok(CompoundKind::Counting(header, self.loop_body()?))
    }

    fn for_in(&mut self) -> Parsed<CompoundKind> {
        self.skip_blanks();
        let variable = self.expect_word("a variable's name")?;
        if !matches!(variable.content, Content::Plain) {
            return Err(self.syntax("a variable's name"));
        }
        self.skip_blanks();
        let mut words = None;
        if self.peek() == Some(b';') {
            self.bump();
        } else {
            self.skip_newlines()?;
            if self.eat_keyword(Keyword::In) {
                words = Some(self.for_words()?);
            }
        }
        let body = self.loop_body()?;
        Ok(CompoundKind::For(For { variable: variable.span, words, body }))
    }

    /// The words after `in`, up to `;` or a newline.
    fn for_words(&mut self) -> Parsed<Vec<Word>> {
        let mut words = Vec::new();
        loop {
            self.skip_blanks();
            self.skip_comment();
            match self.peek() {
                Some(b';') => {
                    self.bump();
                    return Ok(words);
                }
                Some(b'\n') => {
                    self.newline()?;
                    return Ok(words);
                }
                Some(_) | None => words.push(self.expect_word("`;` or a newline after the words of `for`")?),
            }
        }
    }

    fn case(&mut self) -> Parsed<CompoundKind> {
        self.skip_blanks();
        let subject = self.expect_word("a word after `case`")?;
        self.skip_newlines()?;
        self.expect(Keyword::In, "`in`")?;
        let mut arms = Vec::new();
        loop {
            self.skip_newlines()?;
            if self.eat_keyword(Keyword::Esac) {
                return Ok(CompoundKind::Case(subject, arms));
            }
            arms.push(self.arm()?);
            if !self.arm_ending() {
                self.expect(Keyword::Esac, "`esac`")?;
                return Ok(CompoundKind::Case(subject, arms));
            }
        }
    }

    fn arm(&mut self) -> Parsed<Arm> {
        self.eat(b'(');
        let mut patterns = Vec::new();
        loop {
            self.skip_blanks();
            patterns.push(self.expect_word("a pattern")?);
            self.skip_blanks();
            if self.eat(b')') {
                break;
            }
            if !self.eat(b'|') {
                return Err(self.syntax("`)` after a pattern"));
            }
        }
        Ok(Arm { patterns, body: self.list()? })
    }

    /// `;;`, `;&` or `;;&`.
    fn arm_ending(&mut self) -> bool {
        self.eat_all(b";;&") || self.eat_all(b";;") || self.eat_all(b";&")
    }

    fn function(&mut self) -> Parsed<Stage> {
        self.skip_blanks();
        let name = self.expect_word("a function's name")?;
        self.skip_blanks();
        if self.peek() == Some(b'(') {
            let start = self.position;
            self.bump();
            self.skip_blanks();
            if !self.eat(b')') {
                // `function f (body)`: the parenthesis opens the body itself.
                self.position = start;
            }
        }
        self.function_body(name)
    }

    /// `coproc [NAME] command`: a name is one only before a compound command.
    fn coprocess(&mut self) -> Parsed<Stage> {
        self.skip_blanks();
        let start = self.position;
        if self.compound_kind_starts() {
            return self.coprocess_of(None);
        }
        let name = self.word()?.filter(|word| matches!(word.content, Content::Plain)).map(|word| word.span);
        self.skip_blanks();
        if name.is_some() && self.compound_kind_starts() {
            return self.coprocess_of(name);
        }
        self.position = start;
        self.coprocess_of(None)
    }

    fn coprocess_of(&mut self, name: Option<Span>) -> Parsed<Stage> {
        let stage = self.stage()?;
        Ok(Stage::Coprocess(name, Box::new(stage)))
    }

    fn compound_kind_starts(&mut self) -> bool {
        if self.peek() == Some(b'(') {
            return true;
        }
        self.peek_keyword().is_some_and(|(keyword, _)| {
            matches!(
                keyword,
                Keyword::If
                    | Keyword::While
                    | Keyword::Until
                    | Keyword::For
                    | Keyword::Select
                    | Keyword::Case
                    | Keyword::Open
                    | Keyword::Condition
            )
        })
    }
}
