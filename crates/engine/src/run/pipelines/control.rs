//! The steps of a run that are none of its pipeline: how it goes on after an interruption, and the archive of finished tasks.

use std::sync::Arc;
use std::time::Instant;

use serde_json::json;
use uwf_pipeline::Route;
use uwf_pipeline::nodes::{
    ARCHIVE_KEY, Accepted, ArchiveNode, LostAttempt, RESUME_KEY, ResumeNode, VisitNode,
    pipeline_payload,
};
use uwf_protocol::ids::CasRef;
use uwf_protocol::schemas;

use super::archive::{ArchivedAt, archive};
use super::commit::NewStep;
use super::resume::notes_of;
use super::session::Session;
use super::wish::{Decided, FileNow, ResumeWish};
use super::{RunEnd, RunEvent};
use crate::EngineError;
use crate::pipelines::resume_error::ResumeError;

impl Session<'_, '_> {
    /// Puts into the chain how the run goes on, if anything of the pipeline is left. The lost attempt is named there.
    pub(super) fn resume(
        &mut self,
        wish: Option<&ResumeWish>,
        lost: Option<LostAttempt>,
    ) -> Result<(), EngineError> {
        let is_done = matches!(self.course.next(), Route::End(_) | Route::Archive { .. });
        if self.course.is_all_done()
            && let Some(step) = wish.and_then(|wish| wish.from.clone())
        {
            return Err(ResumeError::AllDone { step }.into());
        }
        if is_done || (wish.is_none() && lost.is_none()) {
            return Ok(self.worker.run.lease.clear_record()?);
        }
        let decided = match wish {
            Some(wish) => wish.decide(&self.course, &self.checksum)?,
            None => Decided::default(),
        };
        for note in notes_of(&decided, lost.as_ref()) {
            self.worker.tell(&RunEvent::Note(&note))?;
        }
        let accepted = decided.accepted.map(|file| self.accept(file)).transpose()?;
        let node = ResumeNode {
            lost,
            from: decided.from,
            on_error: decided.on_error,
            accepted,
        };
        let pipeline = decided.accepted.map(|file| Arc::new(file.pipeline.clone()));
        self.push(node.event(pipeline))?;
        self.loops.resumed(&self.course);
        self.add_control(RESUME_KEY, (schemas::RESUME, json!(node)), Instant::now())?;
        Ok(self.worker.run.lease.clear_record()?)
    }

    /// Stores the pipeline that the run goes on under.
    fn accept(&mut self, file: &FileNow) -> Result<Accepted, EngineError> {
        let site = &self.worker.runner.site;
        let payload = pipeline_payload(&file.pipeline);
        let pipeline = site
            .store
            .put(schemas::PIPELINE, &payload, site.env.now_ms())?;
        self.picture.accepted(&file.checksum);
        Ok(Accepted {
            pipeline: pipeline.as_str().to_owned(),
            old_checksum: self.checksum.clone(),
            new_checksum: file.checksum.clone(),
        })
    }

    /// Makes the archive of finished tasks, and puts what came of it into the chain.
    pub(super) fn archive(
        &mut self,
        destination: Option<&str>,
    ) -> Result<Option<RunEnd>, EngineError> {
        let began = Instant::now();
        let folder = &self.course.pipeline().queues.processed_dir;
        let (path, error) = match archive(self.worker, self.around, folder, destination)? {
            ArchivedAt::Path(path, error) => (path, error),
            ArchivedAt::Interrupted(stop) => return Ok(Some(RunEnd::Interrupted(stop.signal))),
        };
        let node = ArchiveNode {
            path: path.display().to_string(),
            error,
        };
        self.push(node.event())?;
        self.add_control(ARCHIVE_KEY, (schemas::ARCHIVE, json!(node)), began)?;
        Ok(None)
    }

    /// Adds a step that is none of the pipeline.
    fn add_control(
        &mut self,
        key: &str,
        output: (CasRef, serde_json::Value),
        began: Instant,
    ) -> Result<(), EngineError> {
        let detail = VisitNode::new(1);
        let (role, duration_ms) = (self.role(key)?, super::progress::whole_ms(began.elapsed()));
        let duration = i64::try_from(duration_ms).unwrap_or(i64::MAX);
        let now_ms = self.worker.runner.site.env.now_ms();
        let step = NewStep {
            role,
            agent: "engine".to_owned(),
            output,
            detail,
            prompt: None,
            started_at_ms: now_ms.saturating_sub(duration),
            duration_ms,
        };
        self.chain.add(&step)?;
        self.records.add(&step, self.chain.newest());
        self.picture.moved(self.chain.newest());
        Ok(())
    }
}
