//! The library's handler: lists and calls by who sends them. One serves everybody; what differs is in the request.
//! What a call comes to is in `calls`.

use std::sync::Arc;

use axum::http::request::Parts;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode, ErrorData, GetPromptRequestParams,
    GetPromptResponse, Implementation, ListPromptsResult, ListToolsResult, PaginatedRequestParams, ServerCapabilities,
    ServerConfig, SubscriptionFilter, Tool,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};

use super::super::conn::Identity;
use super::calls::{self, origin::Request};
use super::tools::{self, TABLE};
use super::{Mcp, prompts};
use crate::engine::ports::Source;
use crate::fleet::caller::Caller;
use crate::fleet::refusal::Refusal;

/// What a client's model is told of the server; clients cut it after 2,000 characters.
const INSTRUCTIONS: &str = include_str!("instructions.txt");

/// What clients may ask for, by the names of the protocol.
const METHODS: [&str; 5] = ["initialize", "tools/list", "tools/call", "prompts/list", "prompts/get"];

/// The handler of all sessions and requests.
#[derive(Clone)]
pub(super) struct Handler {
    door: Arc<Mcp>,
}

impl Handler {
    pub(super) fn new(door: Arc<Mcp>) -> Handler {
        Handler { door }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_prompts()
            .enable_prompts_list_changed()
            .build();
        let mut config = ServerConfig::new(capabilities).with_instructions(INSTRUCTIONS);
        config.server_info = Implementation::new("fleetd", env!("CARGO_PKG_VERSION"));
        config
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        cx: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let identity = identity_of(&cx)?;
        if let Caller::Worker { name, via_child } = &identity.caller {
            self.door.engine.listed(name, Source { process: identity.process, via_child: *via_child });
        }
        let fleet = self.door.engine.fleet();
        let free = fleet.seat().is_none();
        let menu = TABLE.iter().filter(|entry| entry.is_for(&identity.caller, free));
        let menu = menu.filter(|entry| fleet.is_granted(&identity.caller, entry.verb_of(&identity.caller)));
        Ok(ListToolsResult::with_all_items(menu.map(|entry| entry.tool.clone()).collect()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::named(name).map(|entry| entry.tool.clone())
    }

    /// Boxed, since the library moves the future of a call several times and keeps room for each.
    fn call_tool(
        &self,
        call: CallToolRequestParams,
        mut cx: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<CallToolResponse, ErrorData>> + Send {
        Box::pin(async move {
            // Taken out: its headers hold the whole buffer into which the connection read them.
            let parts = cx.extensions.remove::<Parts>().ok_or_else(nobody)?;
            let request = Request::of(&parts, &cx.meta, cx.id.clone()).ok_or_else(nobody)?;
            drop(parts);
            // A refusal is a result: clients hide the text of a protocol error from their models.
            Ok(calls::call(&self.door, call, &request, Some(&cx)).await.into())
        })
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        cx: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let identity = identity_of(&cx)?;
        Ok(ListPromptsResult::with_all_items(prompts::list(&self.door, &identity)))
    }

    async fn get_prompt(
        &self,
        wanted: GetPromptRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let identity = identity_of(&cx)?;
        Ok(prompts::get(&self.door, &identity, &wanted)?.into())
    }

    /// The library takes a known method for an unknown one if what it carries does not fit.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let takes = match request.method.as_str() {
            // The library takes the one that opens a session itself; in a session or without any there is no such method.
            "initialize" => {
                let message = "initialize opens a session, and none can be opened here";
                return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None));
            }
            "tools/call" => "{\"name\": the name of a tool, \"arguments\": a JSON object}",
            "prompts/get" => "{\"name\": the name of a prompt, \"arguments\": a JSON object of texts}",
            known if METHODS.contains(&known) => "what the protocol says, and these parameters do not fit",
            stranger => {
                let refusal = Refusal::unknown("method", stranger, METHODS);
                return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, refusal.to_string(), None));
            }
        };
        Err(ErrorData::invalid_params(format!("{} takes {takes}", request.method), None))
    }

    async fn on_initialized(&self, cx: NotificationContext<RoleServer>) {
        self.door.changes.add(cx.peer).await;
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let offered = SubscriptionFilter::builder().tools_list_changed().prompts_list_changed().build();
        Some(requested.intersection(&offered))
    }

    async fn listen(&self, cx: SubscriptionContext) -> Result<(), ErrorData> {
        let mut count = self.door.changes.count();
        loop {
            tokio::select! {
                () = cx.cancelled() => return Ok(()),
                () = self.door.shared.closing.cancelled() => return Ok(()),
                changed = count.changed() => {
                    if changed.is_err() {
                        return Ok(());
                    }
                    // What the client did not ask for is not sent; that is no fault.
                    let _ = cx.sink().notify_tool_list_changed().await;
                    let _ = cx.sink().notify_prompt_list_changed().await;
                }
            }
        }
    }
}

/// Returns who sends a request, as the layer before the library found out.
fn identity_of(cx: &RequestContext<RoleServer>) -> Result<Identity, ErrorData> {
    let parts = cx.extensions.get::<Parts>();
    parts.and_then(|parts| parts.extensions.get::<Identity>()).cloned().ok_or_else(nobody)
}

/// Nobody comes here but through the layer.
fn nobody() -> ErrorData {
    ErrorData::internal_error("the sender of the request is not known", None)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_instructions_fit_into_what_clients_read() {
        let length = super::INSTRUCTIONS.chars().count();
        assert!((400..2_000).contains(&length), "{length} characters");
    }
}
