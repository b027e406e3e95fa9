//! The table that is printed at the end.

/// Rows of text, as wide as they are.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<[String; 4]>,
}

impl Table {
    /// Adds a row, and prints it at once: the whole takes minutes.
    pub(crate) fn add(&mut self, what: &str, measured: String, wanted: &str, limit: String) {
        eprintln!("{what}: {measured}");
        self.rows.push([what.to_owned(), measured, wanted.to_owned(), limit]);
    }

    /// Prints all of it, in the form that documents take.
    pub(crate) fn print(&self) {
        let head = ["what", "measured", "must reach", "limit, in the same run"].map(str::to_owned);
        let width =
            |column: usize| self.rows.iter().chain([&head]).map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths = [0, 1, 2, 3].map(width);
        let line = |row: &[String; 4]| {
            let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
            println!("| {} |", cells.collect::<Vec<_>>().join(" | "));
        };
        line(&head);
        println!("|{}|", widths.map(|width| "-".repeat(width + 2)).join("|"));
        self.rows.iter().for_each(line);
    }
}
