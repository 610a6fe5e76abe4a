//! The recorded life of a signal: arrived, offered, consumed.

use super::illegal::Illegal;
use super::operation::{self, Progress};
use super::{Deliverable, Journal};
use crate::id::{InboxKey, Seq};
use crate::name::Name;
use crate::operation::OperationKind;
use crate::path::OperationId;
use crate::time::Timestamp;
use crate::value::Value;

/// A signal as the log knows it.
#[derive(Debug)]
pub(crate) struct SignalRecord {
    pub(crate) name: Name,
    pub(crate) payload: Value,
    /// The only one it is for, if it is a decision.
    pub(crate) to: Option<OperationId>,
}

impl Journal {
    pub(super) fn signal_arrived(
        &mut self,
        seq: Seq,
        at: Timestamp,
        key: InboxKey,
        (name, payload): (Name, Value),
    ) -> Result<(), Illegal> {
        if self.signals.contains_key(&key) {
            return Err(Illegal::Repeated { what: format!("the signal `{key}`") });
        }
        self.signals.insert(key.clone(), SignalRecord { name, payload, to: None });
        self.deliver(seq, at, Deliverable::Signal(key));
        Ok(())
    }

    pub(super) fn approval_given(
        &mut self,
        seq: Seq,
        at: Timestamp,
        key: InboxKey,
        (id, payload): (OperationId, Value),
    ) -> Result<(), Illegal> {
        if self.signals.contains_key(&key) {
            return Err(Illegal::Repeated { what: format!("the decision `{key}`") });
        }
        let Some(name) = id.name() else {
            return Err(Illegal::WrongKind { operation: id });
        };
        self.signals.insert(key.clone(), SignalRecord { name, payload, to: Some(id) });
        self.deliver(seq, at, Deliverable::Signal(key));
        Ok(())
    }

    pub(super) fn signal_offered(
        &mut self,
        seq: Seq,
        at: Timestamp,
        key: InboxKey,
        id: &OperationId,
    ) -> Result<(), Illegal> {
        self.check_signal_fits(&key, id)?;
        let record = self.operations.get_mut(id);
        let record = record.ok_or_else(|| Illegal::UnknownOperation { operation: id.clone() })?;
        if record.offered.is_some() {
            return Err(Illegal::Repeated { what: format!("the offer to `{id}`") });
        }
        record.offered = Some(seq);
        self.deliver(seq, at, Deliverable::Offer(key));
        Ok(())
    }

    pub(super) fn signal_consumed(
        &mut self,
        seq: Seq,
        at: Timestamp,
        key: InboxKey,
        id: OperationId,
    ) -> Result<(), Illegal> {
        self.check_signal_fits(&key, &id)?;
        self.progress(at, &id, &Progress::Consumed)?;
        self.consumptions.insert((key, id), seq);
        Ok(())
    }

    /// A signal goes with waits of its name only.
    fn check_signal_fits(&self, key: &InboxKey, id: &OperationId) -> Result<(), Illegal> {
        let Some(signal) = self.signals.get(key) else {
            return Err(Illegal::UnknownSignal { key: key.clone() });
        };
        let fits = match &signal.to {
            Some(to) => to == id,
            None => {
                operation::is(id, OperationKind::Wait) && id.name().as_ref() == Some(&signal.name)
            }
        };
        if fits { Ok(()) } else { Err(Illegal::WrongKind { operation: id.clone() }) }
    }
}
