//! What is put into a module before it runs.
//!
//! - A body of a step without a parameter gets one, of the name on which the step is called: `ctx` inside of it means
//!   the step's own.
//! - The last argument of every call that looks like one on `ctx` is led past `at`, which remembers the number of the
//!   call until the call itself takes it. So each operation knows its line, and each step what its body says, at the
//!   price of a number. It changes nothing for an object that is no `ctx`.
//! - Every `catch` looks first whether it caught something that must not be caught: that memory or the stack ran out.

use agentos_core::source::Site;
use oxc_ast::AstKind;
use oxc_ast::ast::{
    Argument, BindingPattern, CallExpression, CatchClause, Expression, TryStatement,
};
use oxc_semantic::{Semantic, SymbolId};
use oxc_span::GetSpan;

use super::bodies::{Given, Uses};
use super::contexts::{Contexts, parameters, scope_call, symbol};
use super::edits::Edits;
use super::{CallSite, Source};

/// The calls on `ctx` that are answered later.
const OPERATIONS: [&str; 9] =
    ["run", "phase", "shell", "runCli", "artifact", "sleep", "waitFor", "approve", "invoke"];

/// What `ctx` has whose every call is answered later: `ctx.files.read(…)`.
const GROUPS: [&str; 2] = ["files", "git"];

/// Whether a call looks like an operation, and on which object: `ctx` in `ctx.shell(…)` and in `ctx.files.read(…)`.
pub(super) fn operation_call<'e, 'a>(callee: &'e Expression<'a>) -> Option<&'e Expression<'a>> {
    let Expression::StaticMemberExpression(member) = callee else {
        return None;
    };
    match &member.object {
        Expression::StaticMemberExpression(group)
            if GROUPS.contains(&group.property.name.as_str()) =>
        {
            Some(&group.object)
        }
        object => OPERATIONS.contains(&member.property.name.as_str()).then_some(object),
    }
}

const AT: &str = "__agentos_at";
const CAUGHT: &str = "__agentos_caught";
const THROWN: &str = "__agentos_thrown";

/// What has to be put in, and what is known of each call.
pub(super) struct Rewrite<'r, 's, 'a> {
    source: &'r Source<'r>,
    semantic: &'s Semantic<'a>,
    contexts: &'r Contexts,
    uses: &'r Uses,
    first_call: usize,
    pub(super) edits: Edits,
    pub(super) calls: Vec<CallSite>,
}

impl<'r, 's, 'a> Rewrite<'r, 's, 'a> {
    pub(super) fn of(
        source: &'r Source<'r>,
        semantic: &'s Semantic<'a>,
        contexts: &'r Contexts,
        uses: &'r Uses,
        first_call: usize,
    ) -> Self {
        let (edits, calls) = (Edits::default(), Vec::new());
        let mut rewrite = Self { source, semantic, contexts, uses, first_call, edits, calls };
        for node in semantic.nodes().iter() {
            match node.kind() {
                AstKind::CallExpression(call) => rewrite.call(call),
                AstKind::CatchClause(clause) => rewrite.catch(clause),
                AstKind::TryStatement(tried) => rewrite.finally(tried),
                _ => {}
            }
        }
        if !rewrite.edits.is_empty() {
            let end = crate::position::number(source.text.len());
            let import =
                format!("\n;import {{ __at as {AT}, __caught as {CAUGHT} }} from \"agentos\";\n");
            rewrite.edits.insert(end, import);
        }
        rewrite
    }

    fn call(&mut self, call: &CallExpression<'a>) {
        let Some(object) = operation_call(&call.callee) else {
            return;
        };
        // Whatever is no `ctx` is called with as many arguments as before.
        let is_ctx = self.contexts.is_ctx(Some(object), self.semantic.scoping());
        if call.arguments.is_empty() && !is_ctx {
            return;
        }
        let own = self.add_parameter(call);
        let body = call.arguments.get(1).filter(|_| scope_call(&call.callee).is_some());
        let given = body.and_then(|body| Given::of(body, self.semantic));
        let body = given.map(|given| {
            let tied = self.uses.ties(given.span, own).next();
            let tied = tied.map(|(offset, _)| self.source.site(offset));
            given.text(tied)
        });
        let number = self.first_call + self.calls.len();
        self.calls.push(CallSite { site: self.source.site(call.span.start), body });
        let (start, end) = match call.arguments.last() {
            Some(Argument::SpreadElement(spread)) => {
                (spread.argument.span().start, spread.span.end)
            }
            Some(last) => (last.span().start, last.span().end),
            None => {
                let inside = call.span.end - 1;
                self.edits.insert(inside, format!("{AT}(undefined, {number})"));
                return;
            }
        };
        self.edits.insert(start, format!("{AT}("));
        self.edits.insert(end, format!(", {number})"));
    }

    /// Gives the body of a step the parameter that it lacks; says which name that takes over.
    fn add_parameter(&mut self, call: &CallExpression<'a>) -> Option<SymbolId> {
        let scoping = self.semantic.scoping();
        let object = scope_call(&call.callee)?;
        let name = symbol(object, scoping).filter(|name| self.contexts.contains(*name))?;
        let body = call.arguments.get(1)?;
        let parameters = parameters(body)?;
        if !parameters.items.is_empty() || parameters.rest.is_some() {
            return None;
        }
        // A body that declares the name itself can't have a parameter of it, and needs none.
        let scope = match body {
            Argument::ArrowFunctionExpression(function) => function.scope_id.get(),
            Argument::FunctionExpression(function) => function.scope_id.get(),
            _ => None,
        };
        let ident = scoping.symbol_ident(name);
        if scope.is_none_or(|scope| scoping.scope_has_binding(scope, ident)) {
            return None;
        }
        self.edits.insert(parameters.span.start + 1, ident.as_str());
        Some(name)
    }

    fn catch(&mut self, clause: &CatchClause<'a>) {
        let inside = clause.body.span.start + 1;
        let param = clause.param.as_ref();
        match param.map(|param| (param.span, &param.pattern)) {
            Some((_, BindingPattern::BindingIdentifier(name))) => {
                self.edits.insert(inside, format!(" {CAUGHT}({});", name.name));
            }
            // `catch ({ message }) { … }`: caught whole, looked at, and only then taken apart.
            Some((taken, _)) => {
                let whole = format!("{THROWN}) {{ {CAUGHT}({THROWN}); let ");
                self.edits.insert(taken.start, whole);
                self.edits.insert(taken.end, format!(" = ({THROWN}"));
                self.edits.insert(clause.body.span.start, "; ");
                self.edits.insert(clause.body.span.end, " }");
            }
            None => {
                self.edits.insert(clause.body.span.start, format!("({THROWN}) "));
                self.edits.insert(inside, format!(" {CAUGHT}({THROWN});"));
            }
        }
    }

    /// A `finally` that returns would swallow what must not be swallowed.
    fn finally(&mut self, tried: &TryStatement<'a>) {
        if tried.handler.is_none() {
            let guard = format!(" catch ({THROWN}) {{ {CAUGHT}({THROWN}); throw {THROWN}; }}");
            self.edits.insert(tried.block.span.end, guard);
        }
    }
}

impl Source<'_> {
    /// A place, as the log knows it.
    pub(super) fn site(&self, offset: u32) -> Site {
        let at = self.lines.position(usize::try_from(offset).unwrap_or(usize::MAX));
        Site::new(format!("{}:{}:{}", self.name, at.line, at.column))
    }
}
