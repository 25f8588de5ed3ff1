//! The HTTP client of every command that talks to a daemon: blocking, without TLS, past every proxy. It knows how
//! fleetd answers and refuses; what a command makes of the answer is the command's matter.

use std::io;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use ureq::http::Response;
use ureq::{Agent, Body, RequestBuilder};

use super::exit::Failure;
use super::find::Place;
use super::token::Bearer;
use super::{interrupt, wire};
use crate::fleet::refusal::Refusal;
use crate::fleet::time::Span;

/// What an answer may take beyond the time that it was asked to wait.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest answer: a full poll is 500 replies of 1 MiB.
const LONGEST: u64 = 1 << 30;

/// One daemon, as a command sees it.
pub struct Client {
    agent: Agent,
    place: Place,
    token: Option<Bearer>,
}

/// What the daemon answered when it did not refuse.
pub struct Reply {
    /// 200, or 202 for something that is open.
    pub status: u16,
    /// The JSON, exactly as it came.
    pub body: String,
    url: String,
}

impl Client {
    /// Returns a client for the daemon at a place. Ctrl-C ends its waits from now on.
    pub fn new(place: Place) -> Client {
        interrupt::watch();
        let config = Agent::config_builder().http_status_as_error(false).proxy(None).max_redirects(0);
        let config = config.user_agent(concat!("fleetd/", env!("CARGO_PKG_VERSION"))).build();
        let resolver = ureq::unversioned::resolver::DefaultResolver::default();
        Client { agent: Agent::with_parts(config, wire::Dial, resolver), place, token: None }
    }

    /// Sends a token with every request.
    pub fn with_token(self, token: Option<Bearer>) -> Client {
        Client { token, ..self }
    }

    /// Returns where the daemon is reached.
    pub fn url(&self) -> &str {
        &self.place.url
    }

    /// Looks again where the daemon is, for one that was started anew.
    pub fn find_again(&mut self) -> Result<(), Failure> {
        self.place = self.place.again()?;
        Ok(())
    }

    /// Asks for something; `wait` is what the answer may take by itself.
    pub fn get(&self, path: &str, wait: Span) -> Result<Reply, Failure> {
        let request = self.proven(self.agent.get(self.to(path)));
        let request = request.config().timeout_global(Some(wait.std() + PATIENCE)).build();
        self.read(request.call())
    }

    /// Sends something as JSON; `wait` is what the answer may take by itself.
    pub fn post(&self, path: &str, body: &impl Serialize, wait: Span) -> Result<Reply, Failure> {
        let request = self.proven(self.agent.post(self.to(path)));
        let request = request.config().timeout_global(Some(wait.std() + PATIENCE)).build();
        self.read(request.send_json(body))
    }

    fn proven<B>(&self, request: RequestBuilder<B>) -> RequestBuilder<B> {
        match &self.token {
            Some(token) => request.header("authorization", token.header()),
            None => request,
        }
    }

    fn to(&self, path: &str) -> String {
        format!("{}{path}", self.place.url)
    }

    fn read(&self, response: Result<Response<Body>, ureq::Error>) -> Result<Reply, Failure> {
        let mut response = response.map_err(|error| self.unreachable(&error))?;
        let status = response.status().as_u16();
        let body = response.body_mut().with_config().limit(LONGEST).read_to_string();
        let body = body.map_err(|error| self.unreachable(&error))?;
        if (200..300).contains(&status) {
            return Ok(Reply { status, body, url: self.place.url.clone() });
        }
        match serde_json::from_str::<Refusal>(&body) {
            Ok(refusal) => Err(Failure::Refused { refusal, json: body }),
            Err(_) => {
                let begin: String = body.chars().take(60).filter(|c| !c.is_control()).collect();
                let why = format!("it answered {status} and '{begin}'");
                Err(Failure::Stranger { url: self.place.url.clone(), why })
            }
        }
    }

    fn unreachable(&self, error: &ureq::Error) -> Failure {
        match error {
            ureq::Error::Io(io) if io.kind() == io::ErrorKind::Interrupted => Failure::Interrupted { goes_on: None },
            ureq::Error::Io(io) if io.kind() == io::ErrorKind::ConnectionRefused => self.place.nobody(),
            ureq::Error::Protocol(_) => {
                Failure::Stranger { url: self.place.url.clone(), why: format!("it does not speak HTTP: {error}") }
            }
            error => Failure::Unreachable { url: self.place.url.clone(), why: error.to_string() },
        }
    }
}

impl Reply {
    /// Returns the answer as what it should be.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        let mut json = serde_json::Deserializer::from_str(&self.body);
        serde_path_to_error::deserialize(&mut json).map_err(|error| Failure::Stranger {
            url: self.url.clone(),
            why: format!("its answer cannot be read: {error}"),
        })
    }

    /// Returns whether what was waited for is still open.
    pub fn is_open(&self) -> bool {
        self.status == 202
    }
}
