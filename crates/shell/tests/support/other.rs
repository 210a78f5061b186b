//! Another parser's view of a script: the simple commands in rable's tree.

use std::collections::HashSet;

use rable::{Node, NodeKind};

/// The plainly written names of all simple commands that are no functions of the script itself, one for each command;
/// `None` where the parser refuses the text.
pub(crate) fn programs(text: &str) -> Option<Vec<String>> {
    let mut open: Vec<Node> = rable::parse(text, true).ok()?;
    let (mut names, mut functions) = (Vec::new(), HashSet::new());
    while let Some(node) = open.pop() {
        if let NodeKind::Function { name, .. } = &node.kind {
            functions.insert(name.clone());
        }
        if let NodeKind::Command { words, .. } = &node.kind
            && let Some(NodeKind::Word { value, .. }) = words.first().map(|word| &word.kind)
            && is_plain(value)
        {
            names.push(value.clone());
        }
        open.extend(children(node.kind));
    }
    names.retain(|name| !functions.contains(name));
    Some(names)
}

/// Means itself: no quote, expansion or pattern in it.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-+./:[".contains(&byte))
}

fn children(kind: NodeKind) -> Vec<Node> {
    use NodeKind as K;
    match kind {
        K::Word { parts: nodes, .. }
        | K::Pipeline { commands: nodes, .. }
        | K::Array { elements: nodes }
        | K::ArithConcat { parts: nodes } => nodes,
        K::Command { assignments, words, redirects } => [assignments, words, redirects].concat(),
        K::List { items } => items.into_iter().map(|item| item.command).collect(),
        K::If { condition, then_body, else_body, redirects } => {
            [vec![*condition, *then_body], optional(else_body), redirects].concat()
        }
        K::While { condition, body, redirects } | K::Until { condition, body, redirects } => {
            [vec![*condition, *body], redirects].concat()
        }
        K::For { words, body, redirects, .. } | K::Select { words, body, redirects, .. } => {
            [words.unwrap_or_default(), vec![*body], redirects].concat()
        }
        K::Case { word, patterns, redirects } => {
            let clauses = patterns.into_iter().flat_map(|clause| clause.patterns.into_iter().chain(clause.body));
            [vec![*word], clauses.collect(), redirects].concat()
        }
        K::ForArith { body, redirects, .. }
        | K::Subshell { body, redirects }
        | K::BraceGroup { body, redirects }
        | K::ConditionalExpr { body, redirects } => [vec![*body], redirects].concat(),
        K::ArithmeticCommand { expression, redirects, .. } => [optional(expression), redirects].concat(),
        K::ArithmeticExpansion { expression } => optional(expression),
        K::Function { body: node, .. }
        | K::Coproc { command: node, .. }
        | K::Redirect { target: node, .. }
        | K::CommandSubstitution { command: node, .. }
        | K::ProcessSubstitution { command: node, .. }
        | K::ArithUnaryOp { operand: node, .. }
        | K::ArithPreIncr { operand: node }
        | K::ArithPostIncr { operand: node }
        | K::ArithPreDecr { operand: node }
        | K::ArithPostDecr { operand: node }
        | K::ArithSubscript { index: node, .. }
        | K::UnaryTest { operand: node, .. }
        | K::CondNot { operand: node }
        | K::CondParen { inner: node }
        | K::Negation { pipeline: node }
        | K::Time { pipeline: node, .. } => vec![*node],
        K::ArithBinaryOp { left, right, .. }
        | K::ArithAssign { target: left, value: right, .. }
        | K::ArithComma { left, right }
        | K::BinaryTest { left, right, .. }
        | K::CondAnd { left, right }
        | K::CondOr { left, right } => vec![*left, *right],
        K::ArithTernary { condition, if_true, if_false } => {
            [vec![*condition], optional(if_true), optional(if_false)].concat()
        }
        K::WordLiteral { .. }
        | K::HereDoc { .. }
        | K::ParamExpansion { .. }
        | K::ParamLength { .. }
        | K::ParamIndirect { .. }
        | K::AnsiCQuote { .. }
        | K::LocaleString { .. }
        | K::BraceExpansion { .. }
        | K::ArithNumber { .. }
        | K::ArithVar { .. }
        | K::ArithEmpty
        | K::ArithEscape { .. }
        | K::ArithDeprecated { .. }
        | K::CondTerm { .. }
        | K::Empty
        | K::Comment { .. } => Vec::new(),
    }
}

fn optional(node: Option<Box<Node>>) -> Vec<Node> {
    node.into_iter().map(|node| *node).collect()
}
