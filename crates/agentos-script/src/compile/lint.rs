//! What works, but hardly as its author thinks.

use oxc_ast::AstKind;
use oxc_ast::ast::{Argument, CallExpression, Expression};
use oxc_semantic::Semantic;
use oxc_span::{GetSpan, Span};

use super::Source;
use super::bodies::{Tie, Uses};
use super::contexts::{Contexts, parameters, scope_call};
use super::rewrite::operation_call;
use crate::diagnostic::Diagnostic;

/// All of it, in the order of the source.
pub(super) fn lint(source: &Source<'_>, semantic: &Semantic<'_>) -> Vec<Diagnostic> {
    let contexts = Contexts::of(semantic);
    let uses = Uses::of(semantic, &contexts);
    let lint = Lint { source, semantic, contexts: &contexts, uses: &uses };
    let mut found = Vec::new();
    for node in semantic.nodes().iter() {
        match node.kind() {
            AstKind::CallExpression(call) => {
                lint.other_ctx(call, &mut found);
                lint.shadowed_ctx(call, &mut found);
                lint.changing_name(call, &mut found);
            }
            AstKind::ExpressionStatement(statement) => {
                lint.unawaited(&statement.expression, &mut found);
            }
            _ => {}
        }
    }
    found.sort_by_key(|diagnostic| (diagnostic.line, diagnostic.column));
    found.dedup();
    found
}

struct Lint<'l, 's, 'a> {
    source: &'l Source<'l>,
    semantic: &'s Semantic<'a>,
    contexts: &'l Contexts,
    uses: &'l Uses,
}

impl<'a> Lint<'_, '_, 'a> {
    fn warn(&self, offset: u32, message: impl Into<String>, help: &str) -> Diagnostic {
        let Source { name, text, .. } = self.source;
        Diagnostic::at_offset(name, text, offset, message).warning().help(help)
    }

    /// The object and the name of a call on `ctx`.
    fn on_ctx<'e>(&self, call: &'e CallExpression<'a>) -> Option<(&'e Expression<'a>, &'e str)> {
        let Expression::StaticMemberExpression(member) = &call.callee else {
            return None;
        };
        let is_ctx = self.contexts.is_ctx(Some(&member.object), self.semantic.scoping());
        is_ctx.then(|| (&member.object, member.property.name.as_str()))
    }

    /// `ctx.run("a", async (step) => { await ctx.shell(…) })`
    fn other_ctx(&self, call: &CallExpression<'a>, found: &mut Vec<Diagnostic>) {
        if scope_call(&call.callee).is_none() || self.on_ctx(call).is_none() {
            return;
        }
        let Some(body) = call.arguments.get(1) else {
            return;
        };
        // A body without a parameter gets one of the same name, so there the name means its own.
        if parameters(body).is_none_or(|parameters| parameters.items.is_empty()) {
            return;
        }
        let ties = self.uses.ties(body.span(), None).filter(|(_, tie)| *tie == Tie::OuterCtx);
        found.extend(ties.map(|(offset, _)| {
            self.warn(
                offset,
                "this is the `ctx` of the code around the step, so what it asks for does not belong to the step",
                "Use the step's own ctx, the parameter of this function.",
            )
        }));
    }

    /// `ctx.run("a", async () => { const ctx = …; … })`
    fn shadowed_ctx(&self, call: &CallExpression<'a>, found: &mut Vec<Diagnostic>) {
        let Some((Expression::Identifier(name), _)) = self.on_ctx(call) else {
            return;
        };
        let scope = match call.arguments.get(1).filter(|_| scope_call(&call.callee).is_some()) {
            Some(Argument::ArrowFunctionExpression(function))
                if function.params.items.is_empty() =>
            {
                function.scope_id.get()
            }
            Some(Argument::FunctionExpression(function)) if function.params.items.is_empty() => {
                function.scope_id.get()
            }
            _ => None,
        };
        let scoping = self.semantic.scoping();
        let declared = scope.and_then(|scope| scoping.get_binding(scope, name.name));
        if let Some(declared) = declared {
            let offset = scoping.symbol_span(declared).start;
            found.push(self.warn(
                offset,
                format!("this `{}` hides the ctx of the step", name.name),
                "Give it another name, or give the function a parameter for its ctx.",
            ));
        }
    }

    /// `ctx.run(`build ${Date.now()}`, …)`
    fn changing_name(&self, call: &CallExpression<'a>, found: &mut Vec<Diagnostic>) {
        let Some((_, method)) = self.on_ctx(call) else {
            return;
        };
        let named = ["run", "phase", "waitFor", "artifact", "invoke"].contains(&method);
        let Some(name) = call.arguments.first().filter(|_| named).map(GetSpan::span) else {
            return;
        };
        if let Some(offset) = self.changes(name) {
            found.push(self.warn(
                offset,
                format!("the name of this `{method}` is built from something that is different in every run"),
                "A name says what is done, the same in every run; repeated steps are counted by themselves.",
            ));
        }
    }

    /// Whether an expression draws from the clock or from chance.
    fn changes(&self, within: Span) -> Option<u32> {
        self.semantic.nodes().iter().find_map(|node| {
            let span = node.kind().span();
            if span.start < within.start || span.end > within.end {
                return None;
            }
            let is = |object: &Expression<'_>, name: &str| {
                matches!(object, Expression::Identifier(found) if found.name == name)
            };
            match node.kind() {
                AstKind::StaticMemberExpression(member) => {
                    let property = member.property.name.as_str();
                    let draws = (is(&member.object, "Math") && property == "random")
                        || (is(&member.object, "Date") && property == "now")
                        || (self.contexts.is_ctx(Some(&member.object), self.semantic.scoping())
                            && ["runId", "executionId", "workspacePath", "attempt"].contains(&property));
                    draws.then_some(span.start)
                }
                AstKind::NewExpression(made) => is(&made.callee, "Date").then_some(span.start),
                _ => None,
            }
        })
    }

    /// `ctx.shell("make");`
    fn unawaited(&self, expression: &Expression<'a>, found: &mut Vec<Diagnostic>) {
        let Expression::CallExpression(call) = expression else {
            return;
        };
        let object = operation_call(&call.callee);
        if !self.contexts.is_ctx(object, self.semantic.scoping()) {
            return;
        }
        let Expression::StaticMemberExpression(member) = &call.callee else {
            return;
        };
        let method = &member.property.name;
        found.push(self.warn(
            call.span.start,
            format!("nobody awaits this `{method}`: it is cancelled when the code around it ends"),
            "Write `await` before it, or keep the promise and await it later.",
        ));
    }
}
