//! How a person wants a run to go on, and what that means for where it stands.

use uwf_pipeline::course::{
    OnError, Restart, Spot, kept_items, kept_results, moved_ahead, moved_behind, passed_over,
    restart,
};
use uwf_pipeline::{Course, Pipeline, changed_keys, differences};
use uwf_util::suggest;

use crate::pipelines::resume_error::ResumeError;

/// How a person wants a run to go on.
#[derive(Debug, Clone, Default)]
pub struct ResumeWish {
    /// The step of the pipeline where it goes on, if that is not where it stopped.
    pub from: Option<String>,
    /// What a failure does from now on, if that changes.
    pub on_error: Option<OnError>,
    /// The workflow file as it is now; `None` if it is gone.
    pub file: Option<FileNow>,
    /// Whether the run may go on under a changed file.
    pub changes: Changes,
    /// What is done about a lost picture.
    pub picture: LostPicture,
}

/// The workflow file of a run as it is now.
#[derive(Debug, Clone)]
pub struct FileNow {
    /// What it means.
    pub pipeline: Pipeline,
    /// The checksum of its text.
    pub checksum: String,
}

/// Whether a run may go on under a changed workflow file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Changes {
    #[default]
    Refused,
    Accepted,
}

/// What is done about a lost picture of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum LostPicture {
    #[default]
    Refused,
    MadeAgain,
}

/// How a run goes on.
#[derive(Debug, Default)]
pub(super) struct Decided<'w> {
    /// The key of the step where it goes on, if that is not where it stopped.
    pub(super) from: Option<String>,
    pub(super) on_error: Option<OnError>,
    /// The file that it goes on under, if that changes.
    pub(super) accepted: Option<&'w FileNow>,
    /// The first completed step that the changed file does differently.
    pub(super) changed: Option<Restart>,
    /// The settled steps that the changed file has behind the place where the run stopped, if it goes on there.
    pub(super) moved_behind: Vec<String>,
    /// The steps that only the changed file has, and that are not done because the run goes on behind them.
    pub(super) passed_over: Vec<Spot>,
    /// The steps that the run would have done later, and that the changed file has before the place where the run goes on.
    pub(super) moved_ahead: Vec<Spot>,
    /// The loops under way whose items the changed file has changed. They keep theirs.
    pub(super) kept_items: Vec<Spot>,
    /// The loops under way that have finished items, and whose steps the changed file does differently.
    pub(super) kept_results: Vec<Spot>,
    /// The keys of the context about which the changed file says something else. The run keeps what it has.
    pub(super) kept_context: Vec<String>,
}

impl Decided<'_> {
    /// Tells whether the run goes on at a step because the file does it differently, and not because a person says so.
    pub(super) fn is_sent_back(&self) -> bool {
        let changed = self.changed.as_ref().map(|changed| &changed.key);
        changed.is_some() && changed == self.from.as_ref()
    }
}

impl ResumeWish {
    /// Returns the file that the run may go on under.
    pub(super) fn acceptable(&self) -> Option<&FileNow> {
        let file = self.file.as_ref();
        file.filter(|_| self.changes == Changes::Accepted)
    }

    /// Decides how a run goes on. `checksum` is that of the file that it follows now.
    ///
    /// # Errors
    /// When the wish does not suit the run.
    pub(super) fn decide(
        &self,
        course: &Course,
        checksum: &str,
    ) -> Result<Decided<'_>, ResumeError> {
        let file = self.file.as_ref().filter(|file| file.checksum != checksum);
        let differs = file.map(|file| differences(course.pipeline(), &file.pipeline));
        let differs = differs.unwrap_or_default();
        let file = file.filter(|_| !differs.is_empty());
        if file.is_some() && self.changes == Changes::Refused {
            return Err(ResumeError::Changed {
                differences: differs.iter().map(ToString::to_string).collect(),
                kept_items: file
                    .map_or_else(Vec::new, |file| kept_items(course, &file.pipeline, None)),
            });
        }
        let changed = match file {
            Some(file) => restart(course, &file.pipeline, self.from.as_deref())
                .map_err(ResumeError::Unacceptable)?,
            None => None,
        };
        let pipeline = file.map_or(&**course.pipeline(), |file| &file.pipeline);
        if let Some(step) = &self.from {
            need_step(pipeline, step)?;
        }
        let from = self.from.clone();
        let from = from.or_else(|| changed.as_ref().map(|changed| changed.key.clone()));
        let about = |tell: fn(&Course, &Pipeline, Option<&str>) -> Vec<Spot>| {
            file.map_or_else(Vec::new, |file| {
                tell(course, &file.pipeline, from.as_deref())
            })
        };
        let goes_on_there = file.filter(|_| from.is_none());
        Ok(Decided {
            moved_behind: goes_on_there
                .map_or_else(Vec::new, |file| moved_behind(course, &file.pipeline)),
            passed_over: about(passed_over),
            moved_ahead: about(moved_ahead),
            kept_items: about(kept_items),
            kept_results: about(kept_results),
            from,
            on_error: self.on_error,
            accepted: file,
            changed,
            kept_context: file.map_or_else(Vec::new, |file| {
                changed_keys(&course.pipeline().context, &file.pipeline.context)
            }),
        })
    }
}

/// Fails if a pipeline has no step of this name.
fn need_step(pipeline: &Pipeline, step: &str) -> Result<(), ResumeError> {
    let mut names = pipeline.steps.iter().map(|step| step.name.as_str());
    if names.clone().any(|name| name == step) {
        return Ok(());
    }
    Err(ResumeError::UnknownStep {
        step: step.to_owned(),
        near: suggest::nearest(step, &mut names).map(str::to_owned),
    })
}
