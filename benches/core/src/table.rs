//! The table for people and for the docs.

/// One engine.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) times: [f64; 4],
}

pub(crate) fn print(sizes: &[usize; 4], rows: &[Row]) {
    println!("| a decision against | {} rules | {} | {} | {} | growth | times mayi at {} |", sizes[0], sizes[1], sizes[2], sizes[3], sizes[2]);
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    let ours = rows[0].times[2];
    for Row { name, times } in rows {
        let cells: Vec<String> = times.iter().map(|time| human(*time)).collect();
        println!("| {name} | {} | {:.1}× | {:.0}× |", cells.join(" | "), times[3] / times[0], times[2] / ours);
    }
}

fn human(nanoseconds: f64) -> String {
    match nanoseconds {
        time if time < 10_000.0 => format!("{time:.0} ns"),
        time if time < 10_000_000.0 => format!("{:.0} µs", time / 1e3),
        time => format!("{:.1} ms", time / 1e6),
    }
}
