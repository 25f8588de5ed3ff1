//! The tools that only look: who one is, the team, one thing in full, the charter.
//! Loading the charter anew is here too, by the same tool; nothing else here changes anything.

use rmcp::model::CallToolResult;

use super::super::super::whoami::Whoami;
use super::super::{args, shapes};
use super::{Call, given};
use crate::engine::requests::RouteRequest;
use crate::fleet::ids::WorkerName;
use crate::fleet::refusal::Refusal;
use crate::fleet::rules::{Door, Verb};

type Given = Result<CallToolResult, Refusal>;

impl Call<'_> {
    pub(super) fn whoami(&self, _: args::Nothing) -> Given {
        Ok(given(&Whoami::of(&self.caller, Door::Mcp, &self.door.engine)))
    }

    pub(super) fn profiles(&self, _: args::Nothing) -> Given {
        let engine = &self.door.engine;
        let roster = engine.roster(&self.caller)?;
        let fleet = engine.fleet();
        let profiles = fleet.team().into_iter().flat_map(|team| team.profiles.values());
        let view = |profile: &crate::fleet::team::Profile| shapes::ProfileView {
            name: profile.name.clone(),
            about: profile.about.clone(),
            launcher: profile.launcher.clone(),
            timeout: profile.timeout,
        };
        Ok(given(&shapes::Profiles {
            generation: roster.generation,
            roles: roster.roles,
            profiles: profiles.map(view).collect(),
        }))
    }

    pub(super) fn list(&self, _: args::Nothing) -> Given {
        Ok(given(&self.door.engine.roster(&self.caller)?))
    }

    pub(super) async fn status(&self, args: args::Status) -> Given {
        let engine = &self.door.engine;
        let status = match (args.turn, args.run, args.worker, args.wait) {
            (Some(turn), None, None, None) => shapes::Status::Turn(Box::new(engine.trace(&self.caller, turn).await?)),
            (None, Some(run), None, None) => shapes::Status::Run(Box::new(engine.run_detail(&self.caller, run).await?)),
            (Some(turn), None, None, Some(wait)) => match self.turn(turn, wait).await? {
                shapes::Sent::Reply(envelope) => shapes::Status::Reply(envelope),
                shapes::Sent::Pending(pending) => shapes::Status::Pending(pending),
            },
            (None, Some(run), None, Some(wait)) => match self.whole_run(run, wait).await? {
                shapes::Ran::Ended(result) => shapes::Status::Ended(result),
                shapes::Ran::Pending(pending) => shapes::Status::Pending(pending),
            },
            (None, None, Some(name), None) => {
                let wanted = WorkerName::from(name.as_str());
                let roster = engine.roster(&self.caller)?;
                let names = || roster.workers.iter().map(|worker| worker.name.as_str());
                let found = roster.workers.iter().find(|worker| worker.name == wanted);
                let worker = found.ok_or_else(|| Refusal::unknown("worker", &name, names()))?;
                shapes::Status::Worker(Box::new(worker.clone()))
            }
            (None, None, None, None) => {
                let roster = engine.roster(&self.caller)?;
                shapes::Status::Everybody { roster, degraded: self.door.shared.degraded() }
            }
            (_, _, _, Some(_)) => return Err(Refusal::invalid("'wait' needs exactly one of 'turn' and 'run'")),
            _ => return Err(Refusal::invalid("give one of 'turn', 'run' and 'worker', or none")),
        };
        Ok(given(&status))
    }

    pub(super) async fn route(&self, request: RouteRequest) -> Given {
        Ok(given(&self.door.engine.route(&self.caller, request).await?))
    }

    pub(super) fn recipes(&self, _: args::Nothing) -> Given {
        Ok(given(&self.door.engine.recipes(&self.caller)?))
    }

    pub(super) async fn charter(&self, args: args::Charter) -> Given {
        let engine = &self.door.engine;
        if args.diff && args.reload {
            return Err(Refusal::invalid("give one of 'diff' and 'reload': a load leaves nothing to compare"));
        }
        if args.diff {
            return Ok(given(&engine.charter_with_difference(&self.caller).await?));
        }
        if !args.reload {
            return Ok(given(&engine.charter(&self.caller)?));
        }
        self.also(Verb::Reload)?;
        Ok(given(&engine.reload(&self.caller).await?))
    }
}
