//! The thread that writes the audit: started with the doors, and joined when everything is written that they decided.
//! What is written, and where it goes when the disk is full, is the door's matter.

use std::io;
use std::path::PathBuf;
use std::thread::JoinHandle;

use crate::door::audit::{Audit, Rotation};

/// The running thread; dropping it ends it, with nothing left unwritten.
#[derive(Debug)]
pub struct AuditThread {
    audit: Audit,
    thread: Option<JoinHandle<()>>,
}

impl AuditThread {
    /// Starts it for a file.
    pub fn start(file: PathBuf) -> io::Result<AuditThread> {
        let (audit, scribe) = Audit::to(file, Rotation::default());
        let thread = std::thread::Builder::new().name("audit".into()).spawn(move || scribe.run())?;
        Ok(AuditThread { audit, thread: Some(thread) })
    }

    /// Returns what doors write to.
    pub fn doors(&self) -> Audit {
        self.audit.clone()
    }
}

impl Drop for AuditThread {
    fn drop(&mut self) {
        self.audit.end();
        if let Some(thread) = self.thread.take() {
            // It panicked if this fails, which was told then.
            let _ = thread.join();
        }
    }
}
