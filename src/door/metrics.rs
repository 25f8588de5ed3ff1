//! The metrics: what the door counts itself, and what is read from the fleet's snapshot at each scrape.
//!
//! No names of tasks, files or callers; labels are states, roles, endpoints, rubrics, paths of the door and
//! statuses.

use std::collections::BTreeMap;
use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric, prometheus_text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::Registry;

use super::audit::Audit;
use crate::engine::handle::Handle;
use crate::engine::ports::RubricStatus;
use crate::fleet::load::EndpointLoad;
use crate::fleet::refusal::{Refusal, RefusalKind};

/// The registry and what the door counts.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    requests: Family<Labels, Counter>,
    open: Gauge,
}

/// The labels of a request.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Labels {
    path: &'static str,
    status: u16,
}

impl Metrics {
    /// Returns the metrics of an engine and of the doors before it.
    pub fn new(engine: Handle, audit: Audit) -> Self {
        let mut registry = Registry::with_prefix("fleetd");
        let (requests, open) = (Family::default(), Gauge::default());
        registry.register("http_requests", "Requests answered, by path and status", Family::clone(&requests));
        registry.register("http_open_requests", "Requests that are being answered or wait", Gauge::clone(&open));
        registry.register_collector(Box::new(Snapshot(engine, audit)));
        Self { registry, requests, open }
    }

    /// Counts a request as open for as long as what is returned is kept.
    pub fn open(&self) -> Open {
        self.open.inc();
        Open(self.open.clone())
    }

    /// Counts an answer; `path` is one of the door's own, or a word for all others.
    pub fn answered(&self, path: &'static str, status: u16) {
        self.requests.get_or_create(&Labels { path, status }).inc();
    }

    /// Returns everything as Prometheus text.
    pub fn render(&self) -> Result<String, Refusal> {
        let mut text = String::new();
        prometheus_text::encode(&mut text, &self.registry)
            .map_err(|e| Refusal::new(RefusalKind::Internal, format!("the metrics could not be written: {e}")))?;
        Ok(text)
    }
}

/// One open request; counts down when it goes, however that comes.
#[derive(Debug)]
pub struct Open(Gauge);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// The fleet as it is at the moment of the scrape.
struct Snapshot(Handle, Audit);

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Snapshot")
    }
}

impl Collector for Snapshot {
    fn encode(&self, encoder: DescriptorEncoder) -> fmt::Result {
        let mut out = Writer(encoder);
        let fleet = self.0.fleet();
        let roster = fleet.roster(self.0.now());
        let charter = self.0.policy().status();
        let degraded = self.0.degraded().len() + self.1.trouble().iter().len();

        let mut turns = BTreeMap::<String, i64>::new();
        for turn in fleet.turns() {
            *turns.entry(format!("{:?}", turn.state).to_lowercase()).or_default() += 1;
        }
        let turns = turns.iter().map(|(state, n)| (vec![("state", state.as_str())], *n));
        out.gauge("turns", "Turns that are not collected yet, by state", turns)?;

        let mut workers = BTreeMap::<(&str, &str), i64>::new();
        for worker in &roster.workers {
            *workers.entry((worker.role.as_str(), &worker.state)).or_default() += 1;
        }
        let workers = workers.iter().map(|((role, state), n)| (vec![("role", *role), ("state", *state)], *n));
        out.gauge("workers", "Living workers, by role and state", workers)?;

        let roles = |get: fn(&crate::fleet::team::RoleLoad) -> u32| {
            roster.roles.iter().map(move |r| (vec![("role", r.name.as_str())], i64::from(get(&r.load))))
        };
        out.gauge("role_busy", "Busy workers of a role", roles(|load| load.busy))?;
        out.gauge("role_max_busy", "Workers of a role that may be busy at once", roles(|load| load.max_busy))?;
        out.gauge("role_waiting", "Turns that wait for a worker of a role", roles(|load| load.waiting))?;
        let failures = roles(|load| load.recent_failures);
        out.gauge(
            "role_recent_failures",
            "Turns of the last ten minutes that failed, timed out or were lost",
            failures,
        )?;

        let mail = roster.mail.iter().map(|(to, n)| (vec![("to", to.as_str())], *n as i64));
        out.gauge("mail", "Messages that wait to be collected", mail)?;
        out.one("open_runs", "Runs that have not ended", roster.open_runs as i64)?;
        out.one("waiting_callers", "Callers that wait for an answer", fleet.waiting_callers() as i64)?;
        out.one("charter_generation", "The charter generation in force; 0 = none", charter.generation.number as i64)?;
        let stale = charter.stale_since.map_or(0, |since| self.0.now().since(since).0 / 1000);
        out.one(
            "charter_stale_seconds",
            "How long newer files of the charter lie there that were not taken",
            stale as i64,
        )?;
        out.one("degraded", "Reasons for which fleetd does not work as it should", degraded as i64)?;
        out.count("audit_lines_lost", "Lines of the audit that could not be written since the start", self.1.lost())?;
        out.count("charter_rejected", "Charter loads that were refused since the start", charter.rejected)?;
        out.count("handler_errors", "Handlers of events that failed since the start", charter.handler_errors)?;
        out.count("rubric_errors", "Rubrics skipped because of an error since the start", charter.rubric_errors)?;

        let rubrics = |get: fn(&RubricStatus) -> u64| {
            charter.rubrics.iter().map(move |one| (vec![("rubric", one.rubric.as_str())], get(one) as i64))
        };
        let help = "How often each rubric was skipped for an error or its time, since its charter came into force";
        out.gauge("rubric_skipped", help, rubrics(|one| one.failed))?;
        let help = "How often each rubric decided, since its charter came into force";
        out.gauge("rubric_decided", help, rubrics(|one| one.decided))?;

        let endpoints = |get: fn(&EndpointLoad) -> Option<u32>| {
            let rows = roster.endpoints.iter().filter_map(move |(name, load)| Some((name, get(load)?)));
            rows.map(|(name, n)| (vec![("endpoint", name.as_str())], i64::from(n)))
        };
        out.gauge("endpoint_busy", "Busy workers on an endpoint, of all roles", endpoints(|load| Some(load.busy)))?;
        let help = "Workers that may be busy on an endpoint at once, of all roles";
        out.gauge("endpoint_max_busy", help, endpoints(|load| load.max_busy))
    }
}

/// Writes single values in the encoder's terms.
struct Writer<'a>(DescriptorEncoder<'a>);

impl Writer<'_> {
    fn gauge<'l>(
        &mut self,
        name: &str,
        help: &str,
        values: impl Iterator<Item = (Vec<(&'l str, &'l str)>, i64)>,
    ) -> fmt::Result {
        let mut metric = self.0.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (labels, value) in values {
            ConstGauge::new(value).encode(metric.encode_family(&labels)?)?;
        }
        Ok(())
    }

    fn one(&mut self, name: &str, help: &str, value: i64) -> fmt::Result {
        ConstGauge::new(value).encode(self.0.encode_descriptor(name, help, None, MetricType::Gauge)?)
    }

    fn count(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        ConstCounter::new(value).encode(self.0.encode_descriptor(name, help, None, MetricType::Counter)?)
    }
}
