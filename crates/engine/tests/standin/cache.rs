//! The prompt cache's books, as the providers document them. Four bytes are a token here.

use std::collections::HashSet;

use serde_json::Value;

use super::Api;

/// Shorter prefixes are not kept.
const LEAST: usize = 1024;
/// How many blocks before a breakpoint are tried.
const LOOKBACK: usize = 20;

/// Prefixes that were kept.
#[derive(Default)]
pub(crate) struct Cache {
    kept: HashSet<Vec<String>>,
    prompts: Vec<String>,
}

/// How the tokens of a request are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) fresh: usize,
    pub(crate) written: usize,
    pub(crate) read: usize,
}

impl Cache {
    pub(crate) fn count(&mut self, api: Api, body: &Value) -> Counted {
        match api {
            Api::Anthropic => self.count_blocks(body),
            Api::OpenAi => self.count_prefix(body),
        }
    }

    /// By blocks: what stands before a breakpoint is kept, and found again at a block's end.
    fn count_blocks(&mut self, body: &Value) -> Counted {
        let blocks: Vec<&Value> = [&body["system"]]
            .into_iter()
            .chain(body["messages"].as_array().into_iter().flatten().map(|message| &message["content"]))
            .flat_map(|content| {
                content.as_array().cloned().map_or(vec![content], |_| content.as_array().unwrap().iter().collect())
            })
            .collect();
        let texts: Vec<String> = blocks
            .iter()
            .map(|block| block["text"].as_str().or(block.as_str()).unwrap_or_default().to_owned())
            .collect();
        let tokens = |count: usize| texts[..count].iter().map(String::len).sum::<usize>() / 4;
        let breakpoints: Vec<usize> =
            (1..=blocks.len()).filter(|end| !blocks[end - 1]["cache_control"].is_null()).collect();
        let tried = breakpoints.iter().flat_map(|end| end.saturating_sub(LOOKBACK)..=*end);
        let found = tried.filter(|end| self.kept.contains(&texts[..*end])).max().unwrap_or(0);
        for end in &breakpoints {
            if tokens(*end) >= LEAST {
                self.kept.insert(texts[..*end].to_vec());
            }
        }
        let last = breakpoints.last().copied().filter(|end| tokens(*end) >= LEAST).unwrap_or(0).max(found);
        Counted {
            read: tokens(found),
            written: tokens(last) - tokens(found),
            fresh: tokens(texts.len()) - tokens(last),
        }
    }

    /// By prefix: the longest beginning that an earlier request had, in steps of 128 tokens.
    fn count_prefix(&mut self, body: &Value) -> Counted {
        let prompt: String =
            body["messages"].as_array().into_iter().flatten().map(|message| message["content"].to_string()).collect();
        let common = |other: &String| prompt.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count() / 4;
        let longest = self.prompts.iter().map(common).max().unwrap_or(0) / 128 * 128;
        let read = if longest >= LEAST { longest } else { 0 };
        let counted = Counted { read, written: 0, fresh: prompt.len() / 4 - read };
        self.prompts.push(prompt);
        counted
    }
}
