//! Executes a TypeScript workflow as a program of the core.
//!
//! Each delivery starts one body or settles one promise, and then the engine's queue is drained. Only the host settles
//! promises that a workflow can wait for, so the order of everything is the order of the deliveries.

use std::fmt;
use std::sync::Arc;

use agentos_core::failure::{Failure, FailureKind};
use agentos_core::id::Attempt;
use agentos_core::program::{BodyOutcome, Delivery, Door, Program, ScopeId, Ticket};
use agentos_core::value::Value;
use rquickjs::{Function, Persistent, TypedArray};
use serde_json::json;

use crate::definition::Definition;
use crate::desk::{Desk, ScopeNumber};
use crate::engine::{EngineError, Stop, Vm};
use crate::failure;
use crate::limits::Limits;
use crate::operations;
use crate::run::RunInfo;
use crate::stage::{self, Stage};
use crate::unawaited::Unawaited;

/// One execution of a TypeScript workflow. Fields are dropped in this order: what is kept of a world goes before it.
pub struct ScriptProgram {
    desk: Desk,
    world: World,
    limits: Limits,
}

/// Where the workflow runs.
enum World {
    /// Nowhere yet: the run has not begun.
    None,
    Alive(Vm),
    /// Nowhere any more: it broke a limit.
    Dead(Failure),
}

impl ScriptProgram {
    pub(crate) fn new(definition: Arc<Definition>, info: RunInfo, limits: Limits) -> Self {
        Self { desk: Desk::new(definition, info), world: World::None, limits }
    }

    /// Does one thing in the world, and then whatever follows from it.
    fn turn(&mut self, door: &mut Door<'_>, act: impl FnOnce(&Vm) -> Result<(), EngineError>) {
        let World::Alive(vm) = &self.world else {
            return;
        };
        self.desk.bytes_left = self.limits.turn_bytes;
        let stage = Stage { door: door.reborrow(), desk: &mut self.desk };
        let ended = stage.perform(|| {
            vm.begin_turn();
            let acted = act(vm);
            (acted, drain(vm))
        });
        let fatal = self.desk.fatal.take();
        let fatal = fatal.or_else(|| match ended {
            (_, Err(stopped)) => Some(stopped),
            (Err(_), _) if vm.has_stopped() => Some(too_long("its CPU time")),
            (Err(error), _) => Some(broken(&error, &self.desk.definition)),
            (Ok(()), Ok(())) => None,
        });
        if let Some(failure) = fatal {
            self.die(failure, door);
        }
    }

    /// The world has broken a limit: whatever is under way in it ends, and nothing more begins.
    fn die(&mut self, failure: Failure, door: &mut Door<'_>) {
        self.desk.clear();
        self.world = World::Dead(failure.clone());
        for scope in self.desk.close_all() {
            door.finish(scope, BodyOutcome::Threw(failure.clone()));
        }
    }

    fn start_run(&mut self, scope: ScopeId, input: &Value, door: &mut Door<'_>) {
        let number = self.desk.open(scope, None);
        self.desk.current = number;
        match self.desk.definition.vm(self.limits) {
            Ok(vm) => {
                vm.watch_rejections(Box::new(watch));
                self.desk.stopper = Some(vm.stopper());
                self.world = World::Alive(vm);
            }
            Err(error) => {
                let failure = broken(&error, &self.desk.definition);
                return self.die(failure, door);
            }
        }
        let definition = Arc::clone(&self.desk.definition);
        let info = serde_json::to_string(&self.desk.info).unwrap_or_default();
        let input = input.to_string();
        self.turn(door, move |vm| {
            let imported = vm.import(&definition.sources().entry)?;
            // Errors of the queue come up again when it is drained after this.
            let _ = vm.drain();
            let Some(exported) = vm.default_export(imported)? else {
                return Err(EngineError::new(
                    "loading the module awaits something that never comes",
                ));
            };
            vm.with(|ctx| {
                let start = vm.hooks.start.clone().restore(ctx)?;
                start.call::<_, ()>((exported.restore(ctx)?, number, info, input))
            })
        });
    }

    fn start_attempt(
        &mut self,
        ticket: Ticket,
        scope: ScopeId,
        attempt: Attempt,
        door: &mut Door<'_>,
    ) {
        if let World::Dead(failure) = &self.world {
            return door.finish(scope, BodyOutcome::Threw(failure.clone()));
        }
        let body = self.desk.pending.get(&ticket).and_then(|pending| pending.body.clone());
        let Some(body) = body else {
            return;
        };
        let number: ScopeNumber = self.desk.open(scope, Some(ticket));
        self.desk.current = number;
        let failure = self.desk.failures.remove(&ticket).map(|failure| failure::to_json(&failure));
        self.turn(door, move |vm| {
            vm.with(|ctx| {
                let hook = vm.hooks.attempt.clone().restore(ctx)?;
                hook.call::<_, ()>((number, attempt.0, body.restore(ctx)?, failure))
            })
        });
    }

    fn answer(&mut self, ticket: Ticket, result: Result<Value, Failure>, door: &mut Door<'_>) {
        let Some(pending) = self.desk.pending.remove(&ticket) else {
            return;
        };
        self.desk.failures.remove(&ticket);
        self.desk.current = pending.scope;
        let unawaited = Unawaited::watch(&pending, &result, &self.desk);
        self.turn(door, move |vm| {
            vm.with(|ctx| match result {
                Ok(value) => {
                    let value = match operations::bytes(pending.kind, &value) {
                        // Within the memory that the workflow may have, so copied.
                        Some(bytes) => TypedArray::new_copy(ctx.clone(), bytes)?.into_value(),
                        None => {
                            let value = operations::answer(pending.kind, value);
                            ctx.json_parse(value.to_string())?
                        }
                    };
                    pending.resolve.restore(ctx)?.call::<_, ()>((value,))
                }
                Err(failure) => {
                    let hook: Function<'_> = vm.hooks.fail.clone().restore(ctx)?;
                    hook.call::<_, ()>((pending.reject.restore(ctx)?, failure::to_json(&failure)))
                }
            })
        });
        if let Some(unawaited) = unawaited {
            unawaited.warn(&mut self.desk, door);
        }
    }
}

impl Program for ScriptProgram {
    fn resume(&mut self, delivery: Delivery, door: &mut Door<'_>) {
        match delivery {
            Delivery::Run { scope, input } => self.start_run(scope, &input, door),
            Delivery::Body { ticket, scope, attempt } => {
                self.start_attempt(ticket, scope, attempt, door);
            }
            Delivery::Answer { ticket, result } => self.answer(ticket, result, door),
        }
    }

    fn unhandled(&self, scope: ScopeId) -> Option<Failure> {
        let World::Alive(vm) = &self.world else {
            return None;
        };
        let mut failures = self.desk.unhandled(scope).filter_map(|reason| {
            let described = vm.with(|ctx| {
                let hook: Function<'_> = vm.hooks.described.clone().restore(ctx)?;
                hook.call::<_, String>((reason.clone().restore(ctx)?,))
            });
            Some(failure::of_description(&described.ok()?, &self.desk.definition))
        });
        failures.find(|failure| failure.kind != FailureKind::Cancelled)
    }
}

/// Remembers rejections that nobody handles.
fn watch<'js>(
    ctx: rquickjs::Ctx<'js>,
    promise: rquickjs::Value<'js>,
    reason: rquickjs::Value<'js>,
    is_handled: bool,
) {
    let promise = Persistent::save(&ctx, promise);
    let reason = Persistent::save(&ctx, reason);
    stage::enter(|stage| match is_handled {
        true => stage.desk.handled(|other| *other == promise),
        false => stage.desk.rejected(promise, reason),
    });
}

/// Runs what is queued until nothing is. A reaction that throws outside of every promise counts as a rejection that
/// nobody handles.
fn drain(vm: &Vm) -> Result<(), Failure> {
    loop {
        match vm.drain() {
            Ok(()) => return Ok(()),
            Err(Stop::Threw(thrown)) => {
                stage::enter(|stage| stage.desk.rejected(thrown.clone(), thrown));
            }
            Err(Stop::Time) => return Err(too_long("its CPU time")),
            Err(Stop::Reactions) => return Err(too_long("its promise reactions")),
        }
    }
}

fn too_long(what: &str) -> Failure {
    let message = format!(
        "the workflow used up {what} without waiting for anything; look for an endless loop, or do the work in a \
         command"
    );
    Failure::new(FailureKind::Limit, message)
}

/// The failure of code that threw outside of every promise, such as while its module was loaded.
fn broken(error: &EngineError, definition: &Definition) -> Failure {
    let (stack, at) = definition.original_stack(&error.stack);
    let detail = at.map(|at| json!({ "name": "Error", "at": at, "stack": stack }));
    Failure { detail, ..Failure::new(FailureKind::NonRetryable, error.message.clone()) }
}

impl fmt::Debug for ScriptProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptProgram")
            .field("definition", &self.desk.definition)
            .finish_non_exhaustive()
    }
}
