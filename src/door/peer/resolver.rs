//! The batching resolver: one walk over the processes answers everybody who waits at that moment.
//!
//! `Resolver` is the handle, `Ears` the task behind it. No judgement here: it finds owners and nothing else.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use super::{Ends, Owner, os};

/// How many connections may wait for an answer; more wait for a place in the queue.
const QUEUE: usize = 16_384;

/// How long a request waits to learn who sent it; after that the answer is "cannot tell". Long, because on a busy
/// machine a late answer is better than one that takes the operator for a stranger.
const PATIENCE: Duration = Duration::from_secs(60);

struct Question {
    ends: Ends,
    answer: oneshot::Sender<Option<Owner>>,
}

/// Asks who owns the other end of a connection. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Resolver {
    questions: mpsc::Sender<Question>,
    our_uid: u32,
}

impl Resolver {
    /// Returns a resolver and the task that serves it; the task ends with its last resolver.
    pub fn new() -> (Self, Ears) {
        let (questions, queue) = mpsc::channel(QUEUE);
        (Self { questions, our_uid: os::our_uid() }, Ears { queue })
    }

    /// Returns the owner of the peer's socket, or `None` where that cannot be told.
    pub async fn owner(&self, ends: Ends) -> Option<Owner> {
        if !ends.of_this_machine() {
            return None;
        }
        let ask = async {
            let (answer, told) = oneshot::channel();
            self.questions.send(Question { ends, answer }).await.ok()?;
            told.await.ok()?
        };
        tokio::time::timeout(PATIENCE, ask).await.ok()?
    }

    /// Returns the user this daemon runs as.
    pub fn our_uid(&self) -> u32 {
        self.our_uid
    }
}

/// The task behind the resolvers.
#[derive(Debug)]
pub struct Ears {
    queue: mpsc::Receiver<Question>,
}

impl Ears {
    /// Answers until the last resolver is gone.
    pub async fn run(mut self) {
        let mut batch = Vec::new();
        while self.queue.recv_many(&mut batch, QUEUE).await > 0 {
            let ends: Vec<Ends> = batch.iter().map(|q| q.ends).collect();
            // A panic in there loses one batch of answers, which then read "cannot tell".
            let owners = tokio::task::spawn_blocking(move || os::owners(&ends)).await.unwrap_or_default();
            for (question, owner) in batch.drain(..).zip(owners) {
                // Whoever asked may have gone meanwhile; nothing is owed then.
                let _ = question.answer.send(owner);
            }
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use tokio::net::{TcpListener, TcpStream};

    #[tokio::test]
    async fn many_at_once_are_all_answered_and_the_task_ends() {
        let (resolver, ears) = Resolver::new();
        let task = tokio::spawn(ears.run());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let local = listener.local_addr().unwrap();
        let mut open = Vec::new();
        let mut asked = tokio::task::JoinSet::new();
        for _ in 0..300 {
            let stream = TcpStream::connect(local).await.unwrap();
            let (ours, peer) = listener.accept().await.unwrap();
            open.push((stream, ours));
            let resolver = resolver.clone();
            asked.spawn(async move { resolver.owner(Ends::new(local, peer)).await });
        }
        for owner in asked.join_all().await {
            let owner = owner.expect("the owner is this process");
            assert_eq!(owner.uid, resolver.our_uid());
            assert_eq!(
                owner.holders.iter().map(|h| h.process.pid).collect::<Vec<_>>(),
                [rustix::process::getpid().as_raw_pid()]
            );
        }
        drop(resolver);
        task.await.unwrap();
    }

    #[tokio::test]
    async fn a_peer_that_is_not_on_this_machine_is_not_looked_up() {
        let (resolver, _nobody_listens) = Resolver::new();
        let ends = Ends::new("127.0.0.1:7717".parse().unwrap(), "192.0.2.7:4000".parse().unwrap());
        assert_eq!(resolver.owner(ends).await, None);
    }
}
