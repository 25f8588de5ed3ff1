//! The server that the MCP door is measured against: the same library with two trivial tools, one that answers and one
//! that waits, and nothing of ours.
//! It runs as a process of its own, as the daemon does.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use axum::serve::ListenerExt;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleServer, ServerHandler};
use serde_json::json;

/// A running bare server, ended when dropped.
pub struct Bare {
    child: Child,
    pub url: String,
}

impl Bare {
    /// Starts one.
    pub fn start() -> Bare {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .arg("bare")
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program starts");
        let mut url = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut url).expect("it says where it listens");
        Bare { child, url: url.trim().to_string() }
    }

    /// Returns its resident memory in MB.
    pub fn resident(&self) -> f64 {
        crate::daemon::resident(self.child.id())
    }

    /// Returns the processor time that it took so far.
    pub fn processor_time(&self) -> Duration {
        crate::daemon::processor_time(self.child.id())
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[derive(Clone)]
struct Trivial;

impl ServerHandler for Trivial {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let wait = call.arguments.as_ref().and_then(|arguments| arguments.get("wait")?.as_str()?.strip_suffix("ms"));
        if let Some(wait) = wait.and_then(|wait| wait.parse().ok()) {
            tokio::time::sleep(Duration::from_millis(wait)).await;
            return Ok(CallToolResult::structured(json!({ "pending": "wait_over" })).into());
        }
        // As much as `fleet_whoami` says.
        let may = ["whoami", "send", "answer", "poll", "ack", "cancel", "status", "list", "spawn", "stop", "run"];
        Ok(CallToolResult::structured(json!({ "caller": "nobody", "says": "x".repeat(80), "may": may, "n": 1 })).into())
    }
}

/// Serves until it is killed.
pub fn serve() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let service = StreamableHttpService::new(
            || Ok(Trivial),
            std::sync::Arc::new(LocalSessionManager::default()),
            StreamableHttpServerConfig::default(),
        );
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        println!("http://{}", listener.local_addr().expect("it is bound"));
        // As the daemon does: else small answers wait for the acknowledgement of those before.
        let listener = listener.tap_io(|stream| stream.set_nodelay(true).expect("a socket option"));
        axum::serve(listener, axum::Router::new().route_service("/mcp", service)).await.expect("it serves");
    });
}
