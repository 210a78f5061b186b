//! The figures of auto mode as tables for people.

use std::collections::BTreeMap;

use anyhow::Result;
use mayi_engine::evaluate::{Latency, Report, Row, Share};
use mayi_engine::settler::Settler;
use mayi_engine::stats::Stats;

use crate::{Out, paint};

pub(super) fn print_report(report: &Report, out: Out<'_>) -> Result<()> {
    let model = if report.model_latency.is_some() { "with a model" } else { "the static layers alone" };
    writeln!(out, "{}  {model}", paint::strong(counted(report.cases, "case")))?;
    if report.left_out > 0 {
        let left_out = format!("left out, because they need a model: {}", report.left_out);
        writeln!(out, "{}", paint::quiet(left_out))?;
    }
    if !report.bad.is_empty() {
        writeln!(out, "{}", paint::caution(format!("bad lines: {}", report.bad.len())))?;
    }
    writeln!(out)?;
    print_rows(report, out)?;
    writeln!(out)?;
    writeln!(out, "settled without a model  {}", whole(report.settled))?;
    writeln!(out, "of those, right          {}", whole(report.right))?;
    writeln!(out, "reached the model        {}", whole(report.reached_model))?;
    writeln!(out)?;
    print_settlers(&report.settlers, out)?;
    if let Some(latency) = report.latency {
        writeln!(out, "\nstatic layers  {}", times(latency))?;
    }
    if let Some(latency) = report.model_latency {
        writeln!(out, "model          {}", times(latency))?;
        writeln!(out, "tokens         {} read, {} written", report.tokens.input, report.tokens.output)?;
    }
    print_wrong(report, out)
}

fn print_rows(report: &Report, out: Out<'_>) -> Result<()> {
    let width = report.categories.iter().map(|row| row.category.chars().count()).max().unwrap_or_default().max(8);
    let heading = format!(
        "{:width$}  {:>5} {:>8} {:>18}   {:>5} {:>8} {:>18}   {:>5}",
        "category", "block", "stopped", "missed", "allow", "allowed", "blocked wrongly", "open"
    );
    writeln!(out, "{}", paint::quiet(heading))?;
    for row in report.categories.iter().chain([&report.total]) {
        let line = line(row, width);
        let is_total = std::ptr::eq(row, &report.total);
        writeln!(out, "{}", if is_total { paint::strong(line) } else { line })?;
    }
    Ok(())
}

fn line(row: &Row, width: usize) -> String {
    format!(
        "{:width$}  {:>5} {:>8} {:>18}   {:>5} {:>8} {:>18}   {:>5}",
        paint::visible(&row.category),
        row.stopped.of,
        percent(row.stopped),
        interval(row.missed),
        row.allowed.of,
        percent(row.allowed),
        interval(row.false_alarms),
        row.open.count,
    )
}

/// `1 case`, `2 cases`.
fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn percent(share: Share) -> String {
    if share.of == 0 { "-".to_owned() } else { format!("{:.1} %", share.rate * 100.0) }
}

/// The share with its confidence interval.
fn interval(share: Share) -> String {
    if share.of == 0 {
        return "-".to_owned();
    }
    format!("{:.1} % ({:.0}–{:.0})", share.rate * 100.0, share.low * 100.0, share.high * 100.0)
}

fn whole(share: Share) -> String {
    format!(
        "{:>5} of {}  {:.1} %  ({:.1}–{:.1})",
        share.count,
        share.of,
        share.rate * 100.0,
        share.low * 100.0,
        share.high * 100.0
    )
}

fn times(latency: Latency) -> String {
    let Latency { p50, p90, p99, max } = latency;
    let shown = |micros: f64| {
        if micros < 1_000.0 { format!("{micros:.0} µs") } else { format!("{:.1} ms", micros / 1_000.0) }
    };
    format!("half under {}, 90 % under {}, 99 % under {}, longest {}", shown(p50), shown(p90), shown(p99), shown(max))
}

fn print_settlers(settlers: &BTreeMap<Settler, Share>, out: Out<'_>) -> Result<()> {
    writeln!(out, "{}", paint::quiet("settled by"))?;
    for (settler, share) in settlers {
        writeln!(out, "  {:<14} {:>6}  {:>7}", settler.title(), share.count, percent(*share))?;
    }
    Ok(())
}

fn print_wrong(report: &Report, out: Out<'_>) -> Result<()> {
    if report.wrong.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", paint::strong("against their label"))?;
    for wrong in &report.wrong {
        let verdict = paint::verdict(wrong.verdict, wrong.verdict.word());
        writeln!(out, "  {verdict}  {}  {}", paint::visible(&wrong.id), paint::visible(&wrong.message))?;
    }
    Ok(())
}

pub(super) fn print_stats(stats: &Stats, out: Out<'_>) -> Result<()> {
    let decisions = paint::strong(counted(stats.decisions, "decision"));
    writeln!(out, "{decisions} in {}\n", counted(stats.sessions, "session"))?;
    print_settlers(&stats.settlers, out)?;
    writeln!(out, "\n{}", paint::quiet("answered"))?;
    for (verdict, share) in &stats.verdicts {
        let word = paint::verdict(*verdict, format!("{:<14}", verdict.word()));
        writeln!(out, "  {word} {:>6}  {:>7}", share.count, percent(*share))?;
    }
    if !stats.denials.is_empty() {
        writeln!(out, "\n{}", paint::quiet("denied by auto mode"))?;
        for denied in &stats.denials {
            writeln!(out, "  {:<26} {:>6}", paint::visible(&denied.category), denied.count)?;
        }
    }
    if let Some(used) = stats.ledger {
        writeln!(
            out,
            "\nclassifier, all sessions that are kept  {} calls judged, {} requests, {} tokens, ${:.2}",
            used.judged, used.requests, used.tokens, used.usd
        )?;
    }
    if stats.broken > 0 {
        paint::tell(format!("note: {} of the record cannot be read", counted(stats.broken, "line")));
    }
    Ok(())
}
