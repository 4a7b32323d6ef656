//! The artefacts of a step, and those that were written as files.

use serde::Serialize;
use uwf_engine::{ArtifactsOfStep, ExportedArtifacts};
use uwf_protocol::artifact::Artifact;
use uwf_util::printable::printable;
use uwf_util::size;
use uwf_util::text::counted;

use crate::output::Show;
use crate::text::table::Page;

/// The list of the files of a step.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct ArtifactsView(pub(crate) ArtifactsOfStep);

impl Show for ArtifactsView {
    fn text(&self, _page: Page) -> String {
        match self.0.artifacts.as_slice() {
            [] => "no artefacts".to_owned(),
            artifacts => artifacts.iter().map(line).collect::<Vec<_>>().join("\n"),
        }
    }
}

/// The files that were written.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct ExportedArtifactsView(pub(crate) ExportedArtifacts);

impl Show for ExportedArtifactsView {
    fn text(&self, _page: Page) -> String {
        let ExportedArtifacts {
            folder, written, ..
        } = &self.0;
        let files = counted(written.len() as u64, "file");
        let folder = folder.display().to_string();
        format!("{files} written into {}", printable(&folder))
    }
}

fn line(artifact: &Artifact) -> String {
    let path = printable(&artifact.path);
    match &artifact.problem {
        Some(problem) => format!("{path}  not kept: {}", printable(problem)),
        None => format!("{path}  {}", size::format(artifact.bytes)),
    }
}
