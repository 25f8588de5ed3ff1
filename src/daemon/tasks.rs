//! Every task of the daemon has a name, an owner and an end. All are spawned here and nowhere else.
//! What a task does is not known here. One that ends by itself is a fault, and its name says where to look.

use std::future::Future;

use tokio::task::{Id, JoinSet};

/// The daemon's tasks. Dropping it ends them all.
#[derive(Debug, Default)]
pub struct Tasks {
    set: JoinSet<()>,
    names: Vec<(Id, &'static str)>,
}

impl Tasks {
    /// Starts a task under a name.
    pub fn spawn(&mut self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        let id = self.set.spawn(task).id();
        self.names.push((id, name));
    }

    /// Waits until a task ends that should not have; returns its name and, if it panicked, what it said.
    pub async fn first_end(&mut self) -> (&'static str, Option<String>) {
        match self.set.join_next_with_id().await {
            Some(Ok((id, ()))) => (self.name(id), None),
            Some(Err(error)) => {
                let name = self.name(error.id());
                (name, error.is_panic().then(|| panic_text(error)))
            }
            None => std::future::pending().await,
        }
    }

    /// Waits until the task of this name has ended.
    pub async fn end_of(&mut self, name: &str) {
        while self.first_end().await.0 != name {}
    }

    fn name(&self, id: Id) -> &'static str {
        self.names.iter().find(|(known, _)| *known == id).map_or("a task", |(_, name)| name)
    }
}

/// Only a text that was written in the source: one that was put together may quote a message.
fn panic_text(error: tokio::task::JoinError) -> String {
    let payload = error.into_panic();
    payload.downcast_ref::<&str>().map_or_else(|| "the log tells where".into(), |text| text.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_that_panics_is_reported_by_its_name() {
        let mut tasks = Tasks::default();
        tasks.spawn("waits", std::future::pending());
        tasks.spawn("breaks", async { panic!("on purpose") });
        assert_eq!(tasks.first_end().await, ("breaks", Some("on purpose".to_string())));
        tasks.spawn("quotes", async { panic!("cannot cut '{}'", String::from("a prompt")) });
        assert_eq!(tasks.first_end().await, ("quotes", Some("the log tells where".to_string())));
    }
}
