//! A schedule: what happens to one fleet, as a list of events that each stand alone.
//!
//! An event names its object by a number that is taken modulo what is there when it happens, so that any event can be
//! left out and the rest still makes a schedule: that is what makes a failure shrink.

use super::rng::Rng;

/// Who calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    Leader,
    Operator,
}

/// How a queued sighting reaches the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    Once,
    /// It will come again.
    Twice,
    Never,
}

/// When the daemon dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    Now,
    /// At the next commit, which does not happen.
    BeforeCommit,
    /// After the next commit and this many of its effects.
    AfterCommit(u8),
}

/// Which charter is in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CharterPlan {
    /// Cap of the role whose workers are one process a turn; 0 = the role is gone.
    pub w_busy: u8,
    /// Cap of the role whose workers have a session; 0 = the role is gone.
    pub s_busy: u8,
    /// Whether the first profile of each role is the second one.
    pub swapped: bool,
    /// Whether the second profile is gone.
    pub narrow: bool,
    /// Whether the specs differ from those before (timeout, idle_ttl).
    pub changed: bool,
    /// Whether the profiles have changed their launchers.
    pub flipped: bool,
}

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Send {
        by: By,
        to: u8,
        key: u8,
        body: u8,
        urgent: bool,
        deadline: u8,
    },
    WaitTurn {
        by: By,
        pick: u8,
        seconds: u8,
    },
    WaitRun {
        by: By,
        pick: u8,
        seconds: u8,
    },
    Leave {
        pick: u8,
    },
    Poll {
        by: By,
        after: u8,
        limit: u8,
        seconds: u8,
    },
    Ack {
        by: By,
        pick: u8,
        many: bool,
    },
    CancelTurn {
        by: By,
        pick: u8,
    },
    CancelRun {
        by: By,
        pick: u8,
    },
    Answer {
        by: By,
        pick: u8,
        by_turn: bool,
    },
    Spawn {
        by: By,
        session: bool,
        second: bool,
        key: u8,
    },
    Stop {
        by: By,
        pick: u8,
        kill: bool,
    },
    StartRun {
        by: By,
        program: u8,
        key: u8,
        deadline: bool,
    },
    Reply {
        pick: u8,
        text: u8,
    },
    Pause {
        by: By,
        on: bool,
    },
    Seat {
        who: u8,
        how: u8,
    },
    Ask {
        pick: u8,
        text: u8,
    },
    /// A launcher carries out its next order.
    Carry {
        pick: u8,
    },
    /// A running turn ends.
    Exit {
        pick: u8,
        ok: bool,
        busy: bool,
    },
    /// A process dies without a trace of how: a pane-exec or a session.
    Kill {
        pick: u8,
    },
    /// A session that was started comes up, or does not.
    Up {
        pick: u8,
        ok: bool,
    },
    /// A session opens or closes a dialog.
    Dialog {
        pick: u8,
    },
    /// A sighting that is under way arrives.
    Deliver {
        pick: u8,
        how: Delivery,
    },
    /// What the code of a run wants arrives.
    RunGo {
        pick: u8,
    },
    /// Time passes.
    Advance {
        ms: u64,
    },
    /// A charter is saved.
    Reload(CharterPlan),
    /// A handler of the charter acts.
    Act {
        pick: u8,
        what: u8,
    },
    /// The daemon is told to shut down; what comes after it is a death.
    ShutDown,
    /// The next inputs share a commit.
    Together {
        n: u8,
    },
    /// The next commits fail.
    StoreFails {
        n: u8,
    },
    /// The daemon dies and is started again, at a clock that may have jumped.
    Crash {
        when: Death,
        jump_ms: i64,
        late_charter: bool,
    },
}

/// What happens to one fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    pub seed: u64,
    pub charter: CharterPlan,
    /// Launchers carry out orders at once.
    pub prompt_orders: bool,
    /// Sightings arrive at once.
    pub prompt_sightings: bool,
    /// What runs want arrives at once.
    pub prompt_runs: bool,
    pub ops: Vec<Op>,
}

impl Schedule {
    /// Returns the schedule of a seed.
    pub fn new(seed: u64) -> Schedule {
        let mut rng = Rng::new(seed);
        let charter = charter(&mut rng);
        let [prompt_orders, prompt_sightings, prompt_runs] = [60, 40, 60].map(|n| rng.percent(n));
        let calm = rng.percent(30); // nothing fails: what only good days show
        let n = 20 + rng.below(36);
        let mut ops = vec![Op::Send { by: By::Leader, to: 0, key: 0, body: 0, urgent: false, deadline: 0 }];
        ops.extend((0..n).map(|_| op(&mut rng, calm)));
        Schedule { seed, charter, prompt_orders, prompt_sightings, prompt_runs, ops }
    }
}

fn charter(rng: &mut Rng) -> CharterPlan {
    CharterPlan {
        w_busy: if rng.percent(10) { 0 } else { 1 + rng.below(3) as u8 },
        s_busy: if rng.percent(10) { 0 } else { 1 + rng.below(2) as u8 },
        swapped: rng.percent(20),
        narrow: rng.percent(20),
        changed: rng.percent(30),
        flipped: rng.percent(5),
    }
}

fn by(rng: &mut Rng) -> By {
    if rng.percent(65) { By::Leader } else { By::Operator }
}

/// No key most of the time, else one of three.
fn key(rng: &mut Rng) -> u8 {
    if rng.percent(60) { 0 } else { 1 + rng.below(3) as u8 }
}

fn op(rng: &mut Rng, calm: bool) -> Op {
    let by = by(rng);
    let pick = rng.pick();
    match rng.below(if calm { 84 } else { 100 }) {
        0..18 => Op::Send {
            by,
            to: pick,
            key: key(rng),
            body: u8::from(rng.percent(15)),
            urgent: rng.percent(10),
            deadline: if rng.percent(25) { 1 + rng.below(3) as u8 } else { 0 },
        },
        18..23 => Op::WaitTurn { by, pick, seconds: rng.below(90) as u8 },
        23..25 => Op::WaitRun { by, pick, seconds: rng.below(90) as u8 },
        25 => Op::Leave { pick },
        26..29 => {
            Op::Poll { by, after: rng.below(3) as u8, limit: 1 + rng.below(4) as u8, seconds: rng.below(60) as u8 }
        }
        29..32 => Op::Ack { by, pick, many: rng.percent(40) },
        32..34 => Op::CancelTurn { by, pick },
        34 => Op::CancelRun { by, pick },
        35..37 => Op::Answer { by, pick, by_turn: rng.percent(50) },
        37..40 => Op::Spawn { by, session: rng.percent(75), second: rng.percent(30), key: key(rng) },
        40..42 => Op::Stop { by, pick, kill: rng.percent(50) },
        42..46 => Op::StartRun { by, program: rng.pick(), key: key(rng), deadline: rng.percent(15) },
        46 if rng.percent(50) => Op::Reply { pick, text: rng.below(2) as u8 },
        48 if rng.percent(50) => Op::Pause { by, on: rng.percent(50) },
        46..49 => Op::Ask { pick, text: rng.below(3) as u8 },
        49..54 => Op::Carry { pick },
        54..63 => Op::Exit { pick, ok: rng.percent(75), busy: rng.percent(40) },
        63..66 => Op::Up { pick, ok: rng.percent(80) },
        66..74 => {
            let how = if rng.percent(75) || calm { Delivery::Once } else { Delivery::Twice };
            let how = if rng.percent(8) && !calm { Delivery::Never } else { how };
            Op::Deliver { pick, how }
        }
        74..77 => Op::RunGo { pick },
        77..82 => Op::Advance {
            ms: match rng.below(10) {
                0..4 => rng.below(2_000),
                4..7 => rng.below(15_000),
                7..9 => rng.below(400_000),
                _ => rng.below(9 * 86_400_000),
            },
        },
        82 => Op::Reload(charter(rng)),
        83 if rng.percent(50) => Op::Act { pick, what: rng.below(4) as u8 },
        83 => Op::Together { n: 2 + rng.below(4) as u8 },
        84..87 => Op::Kill { pick },
        87 => Op::Dialog { pick },
        88 if rng.percent(70) => Op::Reload(charter(rng)),
        88 if rng.percent(50) => Op::Seat { who: rng.below(3) as u8, how: rng.below(3) as u8 },
        88 => Op::ShutDown,
        89..92 => Op::StoreFails { n: 1 + rng.below(2) as u8 },
        _ => Op::Crash {
            when: match rng.below(5) {
                0..2 => Death::Now,
                2 => Death::BeforeCommit,
                _ => Death::AfterCommit(rng.below(4) as u8),
            },
            jump_ms: match rng.below(6) {
                0 => -(rng.below(100_000) as i64),
                1 => rng.below(100_000) as i64,
                2 => rng.below(8 * 86_400_000) as i64,
                _ => 0,
            },
            late_charter: rng.percent(30),
        },
    }
}
