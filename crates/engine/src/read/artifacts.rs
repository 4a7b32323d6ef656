//! The artefacts of a step: a list, the bytes of one, and all of them as files.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;
use uwf_protocol::artifact::Artifact;
use uwf_protocol::ids::{CasRef, RoleName};
use uwf_runner::{NotDone, OutputFile, Workspace};
use uwf_util::suggest;

use crate::artifact_error::ArtifactError;
use crate::read::detail_summary::DetailSummary;
use crate::read::step_detail::read;
use crate::{EngineError, Site};

/// The artefacts of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ArtifactsOfStep {
    /// The step.
    pub step: CasRef,
    /// Who did it.
    pub role: RoleName,
    /// The files, by path. Those without a node were not kept.
    pub artifacts: Vec<Artifact>,
}

/// Artefacts that were written as files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExportedArtifacts {
    /// The step.
    pub step: CasRef,
    /// The folder, as it was given.
    pub folder: PathBuf,
    /// The files in it.
    pub written: Vec<Artifact>,
}

/// What happens to a file that is where an artefact would be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overwrite {
    /// It stays, and nothing is written.
    Never,
    /// The artefact takes its place.
    Always,
}

impl ArtifactsOfStep {
    /// Returns an artefact that was kept, with its node.
    fn kept(&self, path: &str) -> Result<(&Artifact, CasRef), ArtifactError> {
        let found = self.artifacts.iter().find(|one| one.path == path);
        let found = found.ok_or_else(|| ArtifactError::Unknown {
            step: self.step,
            path: path.to_owned(),
            near: suggest::nearest(path, self.artifacts.iter().map(|one| one.path.as_str()))
                .map(ToOwned::to_owned),
        })?;
        let node = found.node.ok_or_else(|| ArtifactError::LeftOut {
            path: path.to_owned(),
            problem: found.problem.clone().unwrap_or_default(),
        })?;
        Ok((found, node))
    }
}

/// Returns the artefacts of a step.
///
/// # Errors
/// When the step or its detail cannot be read.
pub fn artifacts(site: &Site, step: CasRef) -> Result<ArtifactsOfStep, EngineError> {
    let node = read(&site.store, step)?;
    Ok(ArtifactsOfStep {
        step,
        role: node.role,
        artifacts: DetailSummary::read(&site.store, node.detail)?.artifacts,
    })
}

/// Writes the bytes of an artefact.
///
/// # Errors
/// As of [`artifacts`], and when there is no such artefact, or its bytes cannot be read or written.
pub fn write_artifact(
    site: &Site,
    step: CasRef,
    path: &str,
    out: &mut dyn Write,
) -> Result<(), EngineError> {
    let artifacts = artifacts(site, step)?;
    let (_, node) = artifacts.kept(path)?;
    write_bytes(site, path, node, out)
}

fn write_bytes(
    site: &Site,
    path: &str,
    node: CasRef,
    out: &mut dyn Write,
) -> Result<(), EngineError> {
    let written = site.store.write_bytes(node, out);
    written.map(drop).map_err(|source| {
        let path = path.to_owned();
        ArtifactError::Bytes { path, source }.into()
    })
}

/// Writes artefacts of a step as files below a folder, which is made if it is missing: those with these paths, or all that were
/// kept. Nothing is written outside the folder.
///
/// # Errors
/// As of [`write_artifact`]. If files are in the way and must stay, nothing is written.
pub fn export_artifacts(
    site: &Site,
    step: CasRef,
    paths: &[String],
    (folder, overwrite): (&Path, Overwrite),
) -> Result<ExportedArtifacts, EngineError> {
    let all = artifacts(site, step)?;
    let chosen: Vec<(&Artifact, CasRef)> = match paths {
        [] => all
            .artifacts
            .iter()
            .filter_map(|one| Some((one, one.node?)))
            .collect(),
        paths => paths
            .iter()
            .map(|path| all.kept(path))
            .collect::<Result<_, _>>()?,
    };
    let in_the_way = chosen.iter().map(|(one, _)| &one.path);
    let in_the_way = in_the_way.filter(|path| folder.join(path).symlink_metadata().is_ok());
    let in_the_way: Vec<String> = in_the_way.cloned().collect();
    if !in_the_way.is_empty() && overwrite == Overwrite::Never {
        let (folder, paths) = (folder.to_owned(), in_the_way);
        return Err(ArtifactError::Exists { folder, paths }.into());
    }
    let not_written = |path: &str, problem: String| ArtifactError::NotWritten {
        folder: folder.to_owned(),
        path: path.to_owned(),
        problem,
    };
    let workspace = Workspace::make(folder);
    let workspace = workspace.map_err(|error| not_written(".", error.to_string()))?;
    for (one, node) in &chosen {
        let failed = |error: NotDone| match error {
            NotDone::Failure(failure) => not_written(&one.path, failure.message),
            NotDone::Disk(error) => not_written(&one.path, error.to_string()),
        };
        let file = OutputFile::create(&workspace, &one.path).map_err(failed)?;
        write_bytes(site, &one.path, *node, &mut file.file())?;
        file.finish().map_err(failed)?;
    }
    Ok(ExportedArtifacts {
        step,
        folder: folder.to_owned(),
        written: chosen.into_iter().map(|(one, _)| one.clone()).collect(),
    })
}
