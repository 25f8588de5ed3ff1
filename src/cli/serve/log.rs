//! The log of the daemon and of the pane server: how much of it, whose, and how a panic stands in it.
//!
//! What is logged is decided where it happens. Here is only what holds for all of it: nobody's words come in by a
//! library's own events or by the text of a panic.

use std::panic::PanicHookInfo;

use tracing::{Level, Metadata, Subscriber};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{EnvFilter, filter, fmt, registry};

use super::super::exit::Failure;

/// Logs whole messages below `error`, with headers and texts; whatever was asked for, these stay out.
const TALKATIVE: &str = "rmcp";

/// Begins to log on standard error, for the whole process.
pub fn start(level: &str, colour: bool) -> Result<(), Failure> {
    start_to(level, colour, std::io::stderr)
}

/// Begins to log to whatever can be written to, for the whole process.
pub fn start_to<W>(level: &str, colour: bool, to: W) -> Result<(), Failure>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let log = subscriber(level, colour, to)?;
    tracing::subscriber::set_global_default(log)
        .map_err(|error| Failure::io("cannot begin to log", std::io::Error::other(error)))?;
    std::panic::set_hook(Box::new(tell_panic));
    Ok(())
}

fn subscriber<W>(level: &str, colour: bool, to: W) -> Result<impl Subscriber + Send + Sync, Failure>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let asked = EnvFilter::try_new(level).map_err(|error| {
        Failure::Usage(format!("FLEETD_LOG is '{level}': {error}; write for example info or debug"))
    })?;
    // What is capped is so whatever was asked for, however exactly: and for all that listens, so that the spans of a
    // talkative library are not even kept.
    let lines = fmt::layer().with_writer(to).with_ansi(colour);
    Ok(registry().with(asked).with(filter::filter_fn(is_harmless)).with(lines))
}

fn is_harmless(said: &Metadata<'_>) -> bool {
    let rest = said.target().strip_prefix(TALKATIVE);
    let is_talkative = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"));
    !is_talkative || *said.level() == Level::ERROR
}

/// Tells where a panic was, and its text only if that was written in the source: one that was put together may quote
/// whatever was worked on.
fn tell_panic(panic: &PanicHookInfo<'_>) {
    let at = panic.location().map(ToString::to_string).unwrap_or_default();
    let what =
        panic.payload().downcast_ref::<&str>().copied().unwrap_or("its text is left out: it may quote a message");
    let thread = std::thread::current();
    tracing::error!(at, thread = thread.name().unwrap_or_default(), what, "a panic");
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Page(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Page {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(level: &str) -> String {
        let page = Page::default();
        let to = page.clone();
        let log = subscriber(level, false, move || to.clone()).expect("a level");
        tracing::subscriber::with_default(log, || {
            tracing::trace!(target: "rmcp::transport::streamable_http_server", "whole message");
            tracing::warn!(target: "rmcp", "whole message");
            tracing::error!(target: "rmcp::service", "it broke");
            let span = tracing::info_span!(target: "rmcp::transport", "a session");
            assert!(span.is_disabled(), "it would be entered and left at each step of each call");
            tracing::debug!(target: "rmcpx", "a namesake");
            tracing::debug!("ours");
        });
        let text = page.0.lock().unwrap().clone();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_talkative_library_is_capped_at_error_whatever_was_asked_for() {
        for level in ["trace", "info,rmcp=trace", "rmcp::transport=trace,debug", "off,rmcp=debug"] {
            let text = logged(level);
            assert!(!text.contains("whole message"), "{level}: {text}");
            assert!(text.contains("it broke"), "{level}: {text}");
        }
        let text = logged("debug");
        assert!(text.contains("a namesake") && text.contains("ours"), "{text}");
        assert!(!logged("error").contains("ours"));
        assert!(subscriber("a=b=c", false, io::stderr).is_err());
    }
}
