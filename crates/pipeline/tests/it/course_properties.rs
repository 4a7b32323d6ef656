//! Properties of every course, over flows and results that are made up at random.

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_assert_eq, prop_oneof, proptest};
use uwf_pipeline::course::{OnError, Resume, Route, Steering};
use uwf_pipeline::{Goto, Step};

use crate::common::pipeline;
use crate::drive::{Run, exit};

/// Writes the steps of a list with handlers among themselves, indented.
fn list(indent: usize, steps: Vec<(Option<String>, Vec<Option<usize>>)>) -> String {
    let pad = " ".repeat(indent);
    let count = steps.len();
    let mut text = String::new();
    for (number, (body, jumps)) in steps.into_iter().enumerate() {
        text += &format!("{pad}- name: S{number}\n");
        match body {
            Some(body) => {
                let keys = "  for_each:\n    items: [a, b]\n    steps:";
                let keys: Vec<String> = keys.lines().map(|key| format!("{pad}{key}\n")).collect();
                text += &keys.concat();
                text += &body;
            }
            // A step that starts a workflow goes the ways of any other.
            None if number % 2 == 1 => {
                text += &format!("{pad}  workflow: {{name: w, task: '${{run.id}}'}}\n");
            }
            None => text += &format!("{pad}  command: [x]\n"),
        }
        let kinds = ["success", "failure"].iter().zip(jumps);
        let jumps: Vec<String> = kinds
            .filter_map(|(kind, jump)| {
                let target = match jump? % (count + 1) {
                    0 => "_end".to_owned(),
                    target => format!("S{}", target - 1),
                };
                Some(format!("{kind}: {{goto: {target}}}"))
            })
            .collect();
        if !jumps.is_empty() {
            text += &format!("{pad}  on: {{{}}}\n", jumps.join(", "));
        }
    }
    text
}

fn jumps() -> impl Strategy<Value = Vec<Option<usize>>> {
    vec(
        prop_oneof![3 => Just(None), 1 => any::<usize>().prop_map(Some)],
        2,
    )
}

fn steps(indent: usize, depth: usize) -> proptest::strategy::BoxedStrategy<String> {
    let body = match depth {
        0 => Just(None).boxed(),
        _ => prop_oneof![2 => Just(None), 1 => steps(indent + 4, depth - 1).prop_map(Some)].boxed(),
    };
    vec((body, jumps()), 1..4)
        .prop_map(move |steps| list(indent, steps))
        .boxed()
}

/// Runs a pipeline as a person reads it: one call for each list. It knows no events, and cannot be interrupted.
struct Reader<'r> {
    codes: &'r mut dyn FnMut() -> i64,
    is_strict: bool,
    limit: u64,
    log: Vec<String>,
}

/// How a list ends.
enum ListEnd {
    Done,
    Failed(i64),
    Stopped,
    RunEnds,
}

impl Reader<'_> {
    /// Runs a list. `is_handled` tells whether a loop around it takes a failure; there is none around the pipeline.
    fn list(
        &mut self,
        steps: &[Step],
        around: &str,
        is_handled: Option<&dyn Fn(i64) -> bool>,
    ) -> ListEnd {
        let (mut at, mut transitions) = (0, 0);
        while at < steps.len() {
            let step = &steps[at];
            let code = match self.step(step, around, is_handled) {
                Ok(code) => code,
                Err(end) => return end,
            };
            match (step.on.target(code), is_handled) {
                (Some(Goto::End), _) => return ListEnd::RunEnds,
                (Some(Goto::Step(name)), _) => {
                    let target = steps.iter().position(|step| step.name == *name).unwrap();
                    let is_jump = target != at + 1;
                    at = target;
                    if is_jump && transitions == self.limit {
                        self.log.push(format!("{around}{name}=3"));
                        return ListEnd::Stopped;
                    }
                    transitions += u64::from(is_jump);
                }
                (None, _) if code == 0 => at += 1,
                (None, None) if !self.is_strict => at += 1,
                (None, Some(is_handled)) if !self.is_strict || is_handled(code) => {
                    return ListEnd::Failed(code);
                }
                (None, _) => return ListEnd::Stopped,
            }
        }
        ListEnd::Done
    }

    /// Runs a step, and a loop with all its items. Returns its exit code, or how the list ends that it is in.
    fn step(
        &mut self,
        step: &Step,
        around: &str,
        is_handled: Option<&dyn Fn(i64) -> bool>,
    ) -> Result<i64, ListEnd> {
        let key = format!("{around}{}", step.name);
        let mut code = 0;
        let mut run_ends = false;
        match step.body() {
            None => code = (self.codes)(),
            Some(body) => {
                let takes = |code| {
                    step.on.target(code).is_some() || is_handled.is_some_and(|takes| takes(code))
                };
                for item in 0..2 {
                    match self.list(&body.steps, &format!("{key}[{item}]."), Some(&takes)) {
                        ListEnd::Done => {}
                        ListEnd::Failed(failed) if self.is_strict => {
                            code = failed;
                            break;
                        }
                        ListEnd::Failed(_) => code = 1,
                        ListEnd::Stopped => return Err(ListEnd::Stopped),
                        ListEnd::RunEnds => {
                            (code, run_ends) = (0, true);
                            break;
                        }
                    }
                }
            }
        }
        let shown = (code != 0).then(|| format!("={code}"));
        self.log.push(key + &shown.unwrap_or_default());
        if run_ends {
            Err(ListEnd::RunEnds)
        } else {
            Ok(code)
        }
    }
}

proptest! {
    #[test]
    fn a_course_does_what_a_person_reads(
        text in steps(0, 2),
        codes in vec(0..9_i64, 1..20),
        is_strict in any::<bool>(),
    ) {
        let text = format!("strict_flow: {is_strict}\nmax_transitions: 3\nsteps:\n{text}");
        let code_of = |code: i64| if code < 6 { 0 } else { code };
        let mut given = codes.iter().cycle();
        let mut run = Run::new(&text);
        let route = run.go(|_, _| exit(code_of(*given.next().unwrap())));
        let mut given = codes.iter().cycle();
        let mut reader = Reader {
            codes: &mut || code_of(*given.next().unwrap()),
            is_strict,
            limit: 3,
            log: Vec::new(),
        };
        let end = reader.list(&pipeline(&text).steps, "", None);
        prop_assert_eq!(&run.log, &reader.log, "{}", text);
        let is_stopped = matches!(end, ListEnd::Stopped);
        prop_assert_eq!(is_stopped, matches!(route, Route::Suspend(_)), "{}", text);
    }

    #[test]
    fn a_course_is_the_fold_of_what_happened(
        text in steps(0, 2),
        codes in vec(0..3_i64, 1..20),
        goes_on in any::<bool>(),
    ) {
        let on_error = if goes_on { OnError::Continue } else { OnError::Stop };
        let steering = Steering { on_error, max_transitions: Some(4), ..Steering::default() };
        let mut run = Run::steered(&format!("steps:\n{text}"), steering);
        let mut codes = codes.into_iter().cycle();
        for _ in 0..3 {
            // The cycle guards end every run.
            match run.go(|_, _| exit(codes.next().unwrap() % 2)) {
                Route::Suspend(_) => run.resume(Resume::default()),
                route => assert!(matches!(route, Route::End(_)), "{route:?}"),
            }
            if matches!(run.course.next(), Route::End(_)) {
                break;
            }
        }
        if run.events.len() < 60 {
            run.check_every_prefix();
        }
    }
}
