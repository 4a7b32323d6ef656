//! What threads cost.

use uwf_engine::{CostKey, CostReport, UsageTotal};
use uwf_words::usage;

use crate::output::Show;
use crate::text::columns::{Column, Room, columns};
use crate::text::table::Page;

impl Show for CostReport {
    fn text(&self, page: Page) -> String {
        if self.rows.is_empty() && self.removed.is_none() {
            return "no runs".to_owned();
        }
        let headings = [
            (heading(self.by), Room::Fixed),
            ("RUNS", Room::Spare(1)),
            ("TIME", Room::Spare(2)),
            ("TOKENS", Room::Spare(3)),
            ("COST", Room::Fixed),
            ("TASK", Room::Cut),
        ];
        let headings = headings.map(|(heading, room)| Column::new(heading, room));
        let rows = self.rows.iter().map(|row| {
            let key = row.key.as_deref().unwrap_or("(not on record)");
            cells(key, &row.usage, row.task.as_deref())
        });
        let removed = self.removed.as_ref();
        let removed = removed.map(|usage| cells("removed threads", usage, None));
        let total = cells("total", &self.total, None);
        columns(
            &headings,
            rows.chain(removed).chain([total]).collect(),
            page,
        )
    }
}

fn cells(key: &str, usage: &UsageTotal, task: Option<&str>) -> Vec<String> {
    vec![
        key.to_owned(),
        usage.runs.to_string(),
        usage::duration(usage),
        usage::tokens(usage),
        usage::cost(usage),
        task.unwrap_or_default().to_owned(),
    ]
}

fn heading(by: CostKey) -> &'static str {
    match by {
        CostKey::Role => "ROLE",
        CostKey::Agent => "AGENT",
        CostKey::Model => "MODEL",
        CostKey::Workflow => "WORKFLOW",
        CostKey::Day => "DAY (UTC)",
        CostKey::Thread => "THREAD",
    }
}
