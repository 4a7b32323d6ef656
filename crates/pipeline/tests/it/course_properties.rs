//! Properties of every course, over flows and results that are made up at random.

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use uwf_pipeline::course::{OnError, Resume, Route, Steering};

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

proptest! {
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
