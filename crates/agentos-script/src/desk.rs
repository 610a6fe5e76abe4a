//! Where an execution keeps what it has asked for: promises to settle, bodies to call, rejections that nobody handled.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use agentos_core::failure::{Failure, FailureKind};
use agentos_core::operation::OperationKind;
use agentos_core::program::{ScopeId, Ticket};
use agentos_core::source::Site;
use rquickjs::{Array, Function, Persistent, Value};

use crate::definition::Definition;
use crate::engine::Stopper;
use crate::limits;
use crate::run::RunInfo;

/// The number by which a world knows a scope.
pub(crate) type ScopeNumber = usize;

/// Something asked for and not yet answered.
pub(crate) struct Pending {
    pub(crate) scope: ScopeNumber,
    /// What it is, unless it is a step or phase.
    pub(crate) kind: Option<OperationKind>,
    /// Where in the source it was asked for.
    pub(crate) site: Option<Site>,
    pub(crate) resolve: Persistent<Function<'static>>,
    pub(crate) reject: Persistent<Function<'static>>,
    /// The body of a step, and what is to be called before it is tried again.
    pub(crate) body: Option<Persistent<Array<'static>>>,
}

/// A rejection that nobody has handled.
struct Unhandled {
    scope: ScopeNumber,
    promise: Persistent<Value<'static>>,
    reason: Persistent<Value<'static>>,
}

/// A body under way.
struct Body {
    number: ScopeNumber,
    /// The step that it is an attempt at; none for the workflow's own.
    ticket: Option<Ticket>,
}

/// All of it, for one execution.
pub(crate) struct Desk {
    pub(crate) definition: Arc<Definition>,
    pub(crate) info: RunInfo,
    /// Which agent plays which role.
    pub(crate) roles: BTreeMap<String, String>,
    pub(crate) pending: HashMap<Ticket, Pending>,
    /// The last failure of steps that may be tried again.
    pub(crate) failures: HashMap<Ticket, Failure>,
    scopes: Vec<ScopeId>,
    open: Vec<Body>,
    unhandled: Vec<Unhandled>,
    /// Calls that were warned of because they were not awaited: once is enough, however often they are made.
    warned: HashSet<Site>,
    /// The scope that the delivery under way belongs to.
    pub(crate) current: ScopeNumber,
    /// What has gone wrong for good.
    pub(crate) fatal: Option<Failure>,
    /// Stops the code that runs.
    pub(crate) stopper: Option<Stopper>,
    /// How many bytes the code may still hand over in this turn.
    pub(crate) bytes_left: usize,
}

impl Desk {
    pub(crate) fn new(definition: Arc<Definition>, info: RunInfo) -> Self {
        Self {
            roles: definition.config().cast(&info.agents),
            definition,
            info,
            pending: HashMap::new(),
            failures: HashMap::new(),
            scopes: Vec::new(),
            open: Vec::new(),
            unhandled: Vec::new(),
            warned: HashSet::new(),
            current: 0,
            fatal: None,
            stopper: None,
            bytes_left: 0,
        }
    }

    /// The code hands over so many bytes. One that hands over too much is stopped.
    ///
    /// # Errors
    /// It is stopped.
    pub(crate) fn spend(&mut self, bytes: usize) -> Result<(), Failure> {
        match self.bytes_left.checked_sub(bytes) {
            Some(left) => {
                self.bytes_left = left;
                Ok(())
            }
            None => {
                self.bytes_left = 0;
                let message = "the workflow wrote, set or asked for too much without waiting for anything; look for \
                               an endless loop, and keep large things in files";
                Err(self.stop(Failure::new(FailureKind::Limit, message)))
            }
        }
    }

    /// Ends the run with this failure, unless another has come first.
    pub(crate) fn stop(&mut self, failure: Failure) -> Failure {
        if let Some(stopper) = &self.stopper {
            stopper.stop();
        }
        self.fatal.get_or_insert(failure).clone()
    }

    /// A body begins in this scope.
    pub(crate) fn open(&mut self, scope: ScopeId, ticket: Option<Ticket>) -> ScopeNumber {
        let number = self.scopes.len();
        self.scopes.push(scope);
        self.open.push(Body { number, ticket });
        number
    }

    /// A body has come to its end: which step it was an attempt at, if it had not ended before.
    pub(crate) fn close(&mut self, number: ScopeNumber) -> Option<(ScopeId, Option<Ticket>)> {
        let index = self.open.iter().rposition(|body| body.number == number)?;
        let body = self.open.remove(index);
        Some((self.scope(number)?, body.ticket))
    }

    /// The bodies under way, the innermost first.
    pub(crate) fn close_all(&mut self) -> Vec<ScopeId> {
        let open = std::mem::take(&mut self.open);
        open.iter().rev().filter_map(|body| self.scope(body.number)).collect()
    }

    pub(crate) fn scope(&self, number: ScopeNumber) -> Option<ScopeId> {
        self.scopes.get(number).copied()
    }

    /// A promise was rejected, and nobody is there to handle it yet.
    pub(crate) fn rejected(
        &mut self,
        promise: Persistent<Value<'static>>,
        reason: Persistent<Value<'static>>,
    ) {
        if self.unhandled.len() < limits::UNHANDLED {
            let scope = self.current;
            self.unhandled.push(Unhandled { scope, promise, reason });
        }
    }

    /// Somebody handles the rejection after all.
    pub(crate) fn handled(&mut self, is: impl Fn(&Persistent<Value<'static>>) -> bool) {
        self.unhandled.retain(|unhandled| !is(&unhandled.promise));
    }

    /// Notes that a call is warned of. Whether it was not before.
    pub(crate) fn warns_of(&mut self, site: &Site) -> bool {
        self.warned.insert(site.clone())
    }

    /// How many rejections were not handled so far.
    pub(crate) const fn unhandled_count(&self) -> usize {
        self.unhandled.len()
    }

    /// The reasons of the rejections in a scope that nobody handled, in order.
    pub(crate) fn unhandled(
        &self,
        scope: ScopeId,
    ) -> impl Iterator<Item = &Persistent<Value<'static>>> {
        let of_scope = self
            .unhandled
            .iter()
            .filter(move |unhandled| self.scope(unhandled.scope) == Some(scope));
        of_scope.map(|unhandled| &unhandled.reason)
    }

    /// Lets go of whatever belongs to the world.
    pub(crate) fn clear(&mut self) {
        self.pending.clear();
        self.unhandled.clear();
    }
}
