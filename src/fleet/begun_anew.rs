//! Which steps of a failed run are begun anew when it goes on. Those that were open; and of the finished ones the errors that its
//! code was given last: a refusal, whose reason may be gone by now, and the end of parts over one of them. What the code
//! went on from stays, and so does everything that was answered with a value.

use std::collections::{HashMap, HashSet};

use super::ids::StepPath;
use super::run::Step;

/// Returns the paths of the steps that are begun anew.
pub fn begun_anew(steps: &[Step]) -> HashSet<StepPath> {
    let lasts = Lasts::of(steps);
    let rows: HashMap<&str, &Step> = steps.iter().map(|step| (step.path.as_str(), step)).collect();
    let raised = |path: &str| rows.get(path).is_none_or(|step| step.raised);
    let is_last = |step: &Step| {
        let places = places(step.path.as_str());
        let (Some(seq), Some((own, above))) = (step.seq, places.split_last()) else { return false };
        // What stands below a question costs that question's answer and no run.
        own.step == step.path.as_str()
            && places.iter().all(|place| lasts.beside(place) < Some(seq))
            // Of parts that were given up since one won nothing is missing.
            && above.iter().all(|place| raised(place.step))
    };
    let errors = steps.iter().filter(|step| step.raised && is_last(step));
    let mut anew: HashSet<&str> = errors.map(|step| step.path.as_str()).collect();
    let given_up = |step: &&Step| {
        let places = places(step.path.as_str());
        let above = places.iter().filter(|place| place.step != step.path.as_str() && anew.contains(place.step));
        above.filter_map(|place| rows.get(place.step)).any(|parts| parts.seq < step.seq)
    };
    let ended_with_them: Vec<&str> = steps.iter().filter(given_up).map(|step| step.path.as_str()).collect();
    anew.extend(ended_with_them);
    anew.extend(steps.iter().filter(|step| step.seq.is_none()).map(|step| step.path.as_str()));
    anew.into_iter().map(StepPath::from).collect()
}

/// Where a step stands in one coroutine of its run.
#[derive(Debug, PartialEq)]
struct Place<'p> {
    /// What begins the paths of all steps of the coroutine.
    scope: &'p str,
    /// The step of this coroutine that it is, or that it is below.
    step: &'p str,
}

/// Returns the coroutines in which a step stands, the outermost first: `each#1` of the recipe, then `each#1[2].send#1` of
/// its second part. What is done for a question belongs to the send in which it was asked.
fn places(path: &str) -> Vec<Place<'_>> {
    let (mut places, mut begin) = (Vec::new(), 0);
    loop {
        let end = path[begin..].find(['[', '.']).map_or(path.len(), |at| begin + at);
        places.push(Place { scope: &path[..begin], step: &path[..end] });
        let part = path[end..].strip_prefix('[').and_then(|part| part.find("].").map(|close| end + 1 + close + 2));
        match part {
            Some(below) => begin = below,
            None => return places,
        }
    }
}

/// Of each coroutine the step that ended last, with all below it, and when the last of the others did.
struct Lasts<'s>(HashMap<&'s str, Last<'s>>);

struct Last<'s> {
    step: &'s str,
    end: u64,
    others: Option<u64>,
}

impl<'s> Lasts<'s> {
    fn of(steps: &'s [Step]) -> Lasts<'s> {
        let mut lasts: HashMap<&str, Last<'_>> = HashMap::new();
        for step in steps {
            // What is open was begun after everything that its coroutine was told.
            let end = step.seq.unwrap_or(u64::MAX);
            for Place { scope, step } in places(step.path.as_str()) {
                let last = lasts.entry(scope).or_insert(Last { step, end, others: None });
                if last.step == step {
                    last.end = last.end.max(end);
                } else if end > last.end {
                    *last = Last { step, end, others: Some(last.end) };
                } else {
                    last.others = last.others.max(Some(end));
                }
            }
        }
        Lasts(lasts)
    }

    /// Returns when the last step of a coroutine ended beside this one.
    fn beside(&self, place: &Place<'_>) -> Option<u64> {
        let last = self.0.get(place.scope)?;
        if last.step == place.step { last.others } else { Some(last.end) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::ids::RunId;
    use crate::fleet::time::Time;

    /// Steps in the order in which they ended; `!` marks an error, `?` one that is open.
    fn anew(steps: &str) -> String {
        let step = |(n, word): (usize, &str)| {
            let path = word.trim_end_matches(['!', '?']);
            Step {
                raised: word.ends_with('!'),
                seq: (!word.ends_with('?')).then_some(n as u64),
                ..Step::begun(RunId(1), path.into(), "send", String::new(), Time(0))
            }
        };
        let steps: Vec<Step> = steps.split(' ').enumerate().map(step).collect();
        let anew = begun_anew(&steps);
        let named = steps.iter().map(|step| &step.path).filter(|path| anew.contains(*path));
        named.map(|path| path.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn an_error_is_begun_anew_unless_the_code_went_on_from_it() {
        for (steps, wanted) in [
            ("send#1 send#2!", "send#2"),
            ("send#1! send#2", ""),
            ("send#1! send#2!", "send#2"),
            ("send#1 send#2?", "send#2"),
            ("send#1! send#2?", "send#2"),
            // The part that was refused ends all; the third was about to go on.
            (
                "x#1[1].send#1 x#1[2].send#1! x#1[3].send#1 x#1! x#1[3].send#2 x#1[1].send#2",
                "x#1[2].send#1 x#1 x#1[3].send#2 x#1[1].send#2",
            ),
            // Two were refused, and the code heard of the first one only.
            ("x#1[1].send#1! x#1[2].send#1! x#1!", "x#1[1].send#1 x#1[2].send#1 x#1"),
            // The error was in the code.
            ("now#1 x#1[2].send#1 x#1! x#1[1].sleep#1", "x#1 x#1[1].sleep#1"),
            // The run went on from it.
            ("x#1[1].send#1! x#1! x#1[2].send#1 send#1 send#2!", "send#2"),
            // A part went on from it, another one had the last error.
            ("x#1[1].send#1! x#1[1].send#2 x#1[2].send#1! x#1!", "x#1[2].send#1 x#1"),
            // One part won.
            ("x#1[1].send#1! x#1[2].send#1 x#1 x#1[3].send#1", ""),
            // Parts within parts.
            (
                "x#1[1].y#1[1].send#1! x#1[1].y#1! x#1[1].y#1[2].send#1 x#1! x#1[2].send#1",
                "x#1[1].y#1[1].send#1 x#1[1].y#1 x#1[1].y#1[2].send#1 x#1 x#1[2].send#1",
            ),
            ("x#1[1].y#1[1].send#1! x#1[1].y#1! x#1[1].send#1 x#1!", "x#1"),
            // What was done for a question, whose answer came of it.
            ("send#1.asked#1 send#1.asked#1.send#1! send#1.asked#1.answer#1 send#1?", "send#1"),
        ] {
            assert_eq!(anew(steps), wanted, "{steps}");
        }
    }

    #[test]
    fn a_step_stands_in_its_part_and_in_all_above() {
        let of = |path| places(path).iter().map(|place| format!("{}|{}", place.scope, place.step)).collect::<Vec<_>>();
        assert_eq!(of("send#1"), ["|send#1"]);
        assert_eq!(
            of("each#1[12].race#2[3].now#1"),
            ["|each#1", "each#1[12].|each#1[12].race#2", "each#1[12].race#2[3].|each#1[12].race#2[3].now#1"]
        );
        assert_eq!(of("each#1[1].send#1.asked#2.answer#1"), ["|each#1", "each#1[1].|each#1[1].send#1"]);
    }
}
