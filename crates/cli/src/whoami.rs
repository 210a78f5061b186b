//! `mayi whoami`: who is signed in, which credential is used for what, where it is kept, and what is wrong with it.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use serde_json::{Value, json};

use crate::arguments::Whoami;
use crate::exit::Exit;
use crate::identity::{self, Row};
use crate::{Out, paint};

pub(crate) fn run(task: &Whoami, out: Out<'_>) -> Result<Exit> {
    let rows = identity::rows(&identity::settings(&task.manner)?)?;
    let is_well = rows.iter().any(Row::is_well) && rows.iter().all(|row| row.standing.problems.is_empty());
    if task.manner.json {
        let rows: Vec<Value> = rows.iter().map(row_json).collect();
        writeln!(out, "{:#}", json!({ "well": is_well, "credentials": rows }))?;
    } else {
        told(&rows, out)?;
    }
    Ok(if is_well { Exit::Done } else { Exit::Error })
}

fn told(rows: &[Row], out: Out<'_>) -> Result<()> {
    if rows.iter().all(|row| row.standing.source.is_none()) {
        writeln!(out, "not signed in, and there is no key")?;
        paint::tell("help: mayi login, or mayi login --api-key");
        return Ok(());
    }
    for row in rows {
        writeln!(out, "{}", paint::strong(paint::visible(&row.title())))?;
        writeln!(out, "  {}", paint::visible(&row.line()))?;
        if let Some(life) = life(row) {
            writeln!(out, "  {}", paint::quiet(life))?;
        }
        for problem in &row.standing.problems {
            let mut lines = problem.lines();
            let first = paint::visible(lines.next().unwrap_or_default());
            writeln!(out, "  {}: {first}", paint::alarm("problem"))?;
            for line in lines {
                writeln!(out, "  {}", paint::visible(line))?;
            }
        }
    }
    Ok(())
}

/// How long the access token is good, and whether that matters.
fn life(row: &Row) -> Option<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let left = row.standing.expires?.saturating_sub(now);
    let good = match left / 60 {
        0 if left == 0 => "its token has expired".to_owned(),
        0 => format!("its token is good for {left} s"),
        minutes if minutes < 120 => format!("its token is good for {minutes} min"),
        minutes => format!("its token is good for {} h", minutes / 60),
    };
    Some(if row.standing.renewable { format!("{good}, and is renewed by itself") } else { good })
}

fn row_json(row: &Row) -> Value {
    let mut value = json!({ "for": row.of.word(), "which": row.which });
    if let (Some(members), Value::Object(standing)) = (value.as_object_mut(), json!(row.standing)) {
        members.extend(standing);
    }
    value
}
