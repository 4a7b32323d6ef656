//! One call of an agent, from its arguments to its exit code.

mod failure;
mod record;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use uwf_cas_fs::Store;
use uwf_protocol::agent::AgentCall;
use uwf_protocol::agent::env::{ATTEMPT, ENGINE};
use uwf_protocol::check_files::CheckPlace;
use uwf_protocol::config::Config;
use uwf_protocol::nodes::{Extraction, RefusedCalls, Usage};
use uwf_protocol::policy::SessionPolicy;
use uwf_protocol::prices::Prices;
use uwf_storage::{Env, Root, RunDir, ThreadLock, real};
use uwf_util::mask::Masks;

use crate::KitError;
use crate::adapter::{Adapter, Supervision, Task};
use crate::artifacts;
use crate::checks::{self, Accepted, Asking, Checking};
use crate::context::{self, Context, Past};
use crate::conversation::{Conversation, Opening, Unfinished};
use crate::extract::Extracted;
use crate::extractor::Extractor;
use crate::files::Files;
use crate::late_check_files;
use crate::notes::note;
use crate::persist::{self, Committer, Finished, Work};
use crate::prompt;
use crate::recap::Recapper;
use crate::session;
use failure::{Report, write_kit_failure};
use record::remember;

pub use failure::Failure;

/// Serves one call: does the step, prints its hash or the error, and returns the exit code.
pub fn serve(adapter: &mut dyn Adapter, call: &AgentCall, env: &Env) -> i32 {
    let masks = context::masks(call, env);
    match perform(adapter, call, env, &masks) {
        Ok(finished) => {
            // The caller may be gone. The next call finds the step by its pending record.
            let _ = writeln!(io::stdout(), "{}", finished.line(call.form));
            0
        }
        Err(failure) => {
            let report = masks.text(&Report(&failure).to_string());
            let _ = io::stderr().write_all(report.as_bytes());
            failure.exit_code()
        }
    }
}

/// Does the step of a call and writes its pending record.
///
/// An agent that was started without an engine locks the thread itself, so that two agents never run for one thread.
///
/// # Errors
/// When the thread is busy or cannot be read, the agent fails, its answer does not fit, or the step cannot be
/// written.
pub fn perform(
    adapter: &mut dyn Adapter,
    call: &AgentCall,
    env: &Env,
    masks: &Masks,
) -> Result<Finished, Failure> {
    let root = Root::resolve(None, env).map_err(KitError::from)?;
    let config = uwf_config::load(&root).map_err(KitError::from)?;
    let config = config.unwrap_or_default();
    let service = Service {
        call,
        env,
        run: root.run(call.thread),
        store: Store::open(root.cas_dir(env)),
        prices: Prices::of(&config.prices),
        masks: masks.clone(),
        config,
        root,
    };
    // An agent started by an engine has inherited the thread's lock and keeps it even if the engine dies.
    let _lock = match env.is_set(ENGINE) && context::is_about(env, call) {
        true => None,
        false => Some(service.lock()?),
    };
    let result = service.run_agent(adapter);
    if let Err(Failure::Kit(error)) = &result
        && service.run.exists()
    {
        write_kit_failure(&service.run.scratch, error, &service.masks);
    }
    // What programs wrote themselves is masked now that nobody needs it any more. It is best effort: the engine does it, too.
    let _ = service.run.scratch.mask_program_files(&service.masks);
    result
}

/// How a call begins.
struct Begun {
    opening: Opening,
    /// When, in milliseconds since 1970.
    started_at_ms: i64,
}

/// A call and the places that it works in.
struct Service<'a> {
    call: &'a AgentCall,
    env: &'a Env,
    root: Root,
    store: Store,
    run: RunDir,
    config: Config,
    prices: Prices,
    /// The secrets of the agent, and of those that its words may come from.
    masks: Masks,
}

impl Service<'_> {
    /// Takes the lock of the thread for an agent that was started by hand.
    fn lock(&self) -> Result<ThreadLock, KitError> {
        if !self.run.exists() {
            // The lock makes the folder of the thread. Fail first if the thread or the role does not exist.
            self.recapper().read(Past::SinceLastStep)?;
        }
        let Some(mut lock) = self.run.lease.acquire_if_free()? else {
            return Err(KitError::Busy {
                thread: self.call.thread,
            });
        };
        // The program that an adapter starts may outlive it.
        lock.inherit_on_exec()?;
        Ok(lock)
    }

    fn run_agent(&self, adapter: &mut dyn Adapter) -> Result<Finished, Failure> {
        let run = &self.run;
        let session_key = adapter.session_key();
        let past = match run.sessions.is_lost(&self.call.role, &session_key) {
            true => Past::Whole,
            false => Past::SinceLastStep,
        };
        let (context, recapped) = self.recapper().context(past)?;
        run.create().map_err(KitError::from)?;
        run.scratch.clear_live().map_err(KitError::from)?;
        run.scratch.clear_running_check().map_err(KitError::from)?;
        let agent = adapter.label();
        let mut task = self.task(&context, adapter)?;
        let opening = session::opening(run, adapter, &mut task);
        self.record_late_check_files(&context, &task)?;
        // An agent of no repository, or one whose files cannot be recorded, works all the same.
        let files = Files::before(&self.config.snapshots, run, &task);
        let started_at_ms = self.env.now_ms();
        let mut conversation = Conversation::of(&run.scratch, &self.masks);
        conversation.count(recapped);
        let begun = Begun {
            opening,
            started_at_ms,
        };
        let result = self.converse(adapter, &mut conversation, &mut task, &begun, &context)?;
        match result {
            Ok(accepted) => {
                tracing::debug!(
                    tag = "Y3M6Q9Z4",
                    method = ?accepted.extraction.method,
                    attempts = accepted.extraction.attempts,
                    "the answer fits"
                );
                let now_ms = self.env.now_ms();
                let (started_at_ms, completed_at_ms) =
                    self.times(&conversation, started_at_ms, now_ms);
                let work = Work {
                    task: &task,
                    agent,
                    conversation: &conversation,
                    extracted: accepted.extracted,
                    extraction: accepted.extraction,
                    checks: &accepted.checks,
                    files: files.as_ref().and_then(|files| files.after(run, &task)),
                    artifacts: artifacts::of_attempt(
                        (self.env, self.call),
                        &self.store,
                        &self.masks,
                        now_ms,
                    ),
                    started_at_ms,
                    completed_at_ms,
                    now_ms,
                };
                self.finish(&context, &work)
            }
            Err(source) => Err(self.fail(agent, &task, &conversation, source)),
        }
    }

    /// Puts a conversation that failed on record, and returns the failure to report.
    fn fail(
        &self,
        agent: String,
        task: &Task,
        conversation: &Conversation,
        source: Unfinished,
    ) -> Failure {
        // An answer whose checks were interrupted is used by the next attempt.
        if !matches!(source, Unfinished::Stopped(_)) {
            let _ = self.run.scratch.clear_launched();
            let _ = checks::clear(&self.run.scratch);
        }
        let raw = self.record_failure(task, conversation, &source, self.env.now_ms());
        Failure::Unfinished {
            agent,
            role: self.call.role.clone(),
            source: Box::new(source),
            raw,
            refused: RefusedCalls::note(&conversation.refused_calls()),
        }
    }

    /// Gets an answer that fits. The answer of an earlier attempt is used if there is one; a session that is gone is
    /// replaced by a new one. The outer error is the kit's, the inner one the agent's.
    fn converse(
        &self,
        adapter: &mut dyn Adapter,
        conversation: &mut Conversation,
        task: &mut Task,
        begun: &Begun,
        context: &Context,
    ) -> Result<Result<Accepted, Unfinished>, KitError> {
        let extractor = Extractor {
            env: self.env,
            root: &self.root,
            store: &self.store,
            schema: &context.schema,
            policy: context.role.extract,
            prices: &self.prices,
            masks: &self.masks,
        };
        let mut read = |answer: &str| extractor.read(answer);
        let schema = &context.schema;
        let answered = self
            .run
            .scratch
            .answered()
            .filter(|_| context.role.checks.is_some());
        let mut earlier = answered.and_then(|answered| conversation.restore(answered, task));
        if earlier.is_none() {
            let reply = adapter.earlier(task);
            earlier = reply.and_then(|reply| conversation.accept(reply, task, schema));
        }
        let mut result = match earlier {
            Some(done) => Ok(done),
            None => conversation.run(adapter, task, schema, &begun.opening, &mut read),
        };
        if let Err(error) = &result
            && conversation.lacks_session(error)
        {
            let recapped;
            (*task, recapped) = self.task_anew(adapter, task, error)?;
            conversation.count(recapped);
            result = conversation.run(adapter, task, schema, &Opening::Prompt, &mut read);
        }
        let asking = Asking {
            adapter,
            task,
            schema,
            read: &mut read,
        };
        let result = match result {
            Ok(done) => self.check(conversation, asking, done, (begun, context))?,
            Err(unfinished) => Err(unfinished),
        };
        remember(
            &self.run.sessions,
            task,
            conversation,
            result.as_ref().err(),
        );
        Ok(result)
    }

    /// Runs the checks of the role on an answer, if it has checks.
    fn check(
        &self,
        conversation: &mut Conversation,
        mut asking: Asking<'_>,
        done: (Extracted, Extraction),
        (begun, context): (&Begun, &Context),
    ) -> Result<Result<Accepted, Unfinished>, KitError> {
        let Some(checks) = &context.role.checks else {
            return Ok(Ok(Accepted::unchecked(done)));
        };
        let checking = Checking {
            env: self.env,
            scratch: &self.run.scratch,
            checks,
            pinned: &context.start.check_files,
            late: &late_check_files::recorded(&self.run)?,
            own: self.own_directories(context),
            masks: uwf_config::secrets_in_output(&self.root, self.env).and(&self.masks),
            has_edge: context.has_checks_edge,
            started_at_ms: begun.started_at_ms,
            attempt: self.run.ledger.next_attempt(),
        };
        checking.until_passed(conversation, &mut asking, done)
    }

    /// Records the files of the checks, if the agent works in a folder that was made after the thread had started.
    fn record_late_check_files(&self, context: &Context, task: &Task) -> Result<(), KitError> {
        let Some(checks) = &context.role.checks else {
            return Ok(());
        };
        let own = self.own_directories(context);
        let place = CheckPlace {
            own: &own,
            cwd: &task.cwd,
        };
        let pinned = &context.start.check_files;
        Ok(late_check_files::record(&self.run, checks, &place, pinned)?)
    }

    /// Returns the directory of the thread, and the one in its worktree that stands for it, without links.
    fn own_directories(&self, context: &Context) -> Vec<PathBuf> {
        let Some(own) = context.start.cwd.as_deref().map(Path::new) else {
            return Vec::new();
        };
        let worktree = self.root.worktree(self.call.thread).read().ok().flatten();
        let in_worktree = worktree.map(|record| record.inside(own));
        let all = in_worktree.into_iter().chain([own.to_owned()]);
        all.map(|directory| real(&directory)).collect()
    }

    fn recapper(&self) -> Recapper<'_> {
        Recapper {
            call: self.call,
            env: self.env,
            root: &self.root,
            store: &self.store,
            run: &self.run,
            config: &self.config,
            prices: &self.prices,
            masks: &self.masks,
        }
    }

    /// Returns the task for a new session in place of one that is gone. Its prompt covers the thread from its start.
    fn task_anew(
        &self,
        adapter: &dyn Adapter,
        before: &Task,
        why: &Unfinished,
    ) -> Result<(Task, Option<Usage>), KitError> {
        note(&format!(
            "the session could not go on: {why}; a new one starts"
        ));
        // If the lost session stayed on record, an attempt after a crash would get another prompt than this one.
        let _ = self
            .run
            .sessions
            .forget(&self.call.role, Some(&before.agent));
        let (context, recapped) = self.recapper().context(Past::Whole)?;
        let task = Task {
            session: None,
            ..self.task(&context, adapter)?
        };
        Ok((task, recapped))
    }

    /// Writes the finished step. On a full disk, it uses the reserved space.
    fn finish(&self, context: &Context, work: &Work<'_>) -> Result<Finished, Failure> {
        let committer = Committer::of(self.env);
        let write = || persist::write(&self.store, &self.run, context, work, committer);
        let finished = self.root.with_room(KitError::is_of_full_disk, write)?;
        // The answer of a program was kept until now, for another attempt in case of a crash.
        let _ = self.run.scratch.clear_launched();
        let _ = checks::clear(&self.run.scratch);
        Ok(finished)
    }

    fn task(&self, context: &Context, adapter: &dyn Adapter) -> Result<Task, KitError> {
        let Self {
            call,
            env,
            store,
            run,
            ..
        } = self;
        let edge_prompt = context::instruction(call, env, store)?;
        let decided = context::decided(call, env, store, context)?;
        let agent = adapter.session_key();
        let is_fresh = context.role.session == Some(SessionPolicy::Fresh);
        let may_go_on = context.replaces.is_some() || (context.visit > 1 && !is_fresh);
        let session = run.sessions.of_agent(&call.role, &agent);
        let session = session.filter(|_| may_go_on);
        let about_decision = decided.as_ref().map(prompt::decided).unwrap_or_default();
        let mut task = Task {
            thread: call.thread,
            role: call.role.clone(),
            head: context.head,
            replaces: context.replaces,
            agent,
            prompt: context.prompt(call, &edge_prompt),
            edge_prompt,
            cwd: env.cwd().to_owned(),
            run_dir: run.path().to_owned(),
            visit: context.visit,
            step: context.step,
            session,
            schema: context.schema.schema().clone(),
            permissions: context::permissions(env, call)?,
            decided,
            supervision: Supervision::of(env),
            attempt: env.var(ATTEMPT).map(ToOwned::to_owned),
            prices: self.prices.clone(),
            masks: self.masks.clone(),
        };
        if let Some(failed) = session::untold_checks(run, adapter, &task) {
            let said = failed.feedback.as_ref().unwrap_or(&failed.error);
            task.prompt += &prompt::failed_before(said, failed.raw);
        }
        task.prompt += &about_decision;
        Ok(task)
    }
}
