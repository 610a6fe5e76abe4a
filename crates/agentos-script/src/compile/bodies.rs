//! What the body of a step says, and whether the code around it can tell that it was executed.
//!
//! A body whose text has changed is not executed again once it has finished, so whatever it did to the code around it
//! would be missing. Such a body is tied: it writes a variable of that code, changes an object that it did not make, or
//! asks for something on another scope's `ctx`.

use agentos_core::source::{BodyText, Site};
use oxc_ast::AstKind;
use oxc_ast::ast::{Argument, Expression};
use oxc_codegen::{Codegen, CodegenOptions};
use oxc_semantic::{Semantic, SymbolId};
use oxc_span::{GetSpan, Span};
use sha2::{Digest, Sha256};

use super::contexts::{Contexts, symbol};
use crate::hex;

/// A use of a name, by its place.
#[derive(Debug)]
struct Use {
    at: u32,
    declared: Span,
    symbol: SymbolId,
    writes: bool,
    is_ctx: bool,
}

/// All uses of the module's names, in the order of the source.
#[derive(Debug)]
pub(super) struct Uses(Vec<Use>);

/// How a body is tied to the code around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tie {
    /// It writes a variable, or changes what it holds.
    Writes,
    /// It uses the `ctx` of the code around it.
    OuterCtx,
}

/// Methods that change what they are called on.
const CHANGING: [&str; 13] = [
    "push",
    "pop",
    "shift",
    "unshift",
    "splice",
    "sort",
    "reverse",
    "fill",
    "copyWithin",
    "set",
    "add",
    "delete",
    "clear",
];

impl Uses {
    pub(super) fn of(semantic: &Semantic<'_>, contexts: &Contexts) -> Self {
        let scoping = semantic.scoping();
        let mut uses: Vec<Use> = Vec::with_capacity(scoping.references_len());
        for symbol in scoping.symbol_ids() {
            let (declared, is_ctx) = (scoping.symbol_span(symbol), contexts.contains(symbol));
            let mutable = !scoping.symbol_flags(symbol).is_import();
            for reference in scoping.get_resolved_references(symbol) {
                if reference.is_type() && !reference.is_value() {
                    continue;
                }
                let at = semantic.reference_span(reference).start;
                let changed = reference.flags().is_member_write_target()
                    || changes(semantic, reference.node_id());
                let writes = reference.is_write() || (changed && mutable && !is_ctx);
                uses.push(Use { at, declared, symbol, writes, is_ctx });
            }
        }
        uses.sort_by_key(|found| found.at);
        Self(uses)
    }

    /// Everything within `body` that ties it to the code around it. `own` is a name that will mean something of the
    /// body's own.
    pub(super) fn ties(
        &self,
        body: Span,
        own: Option<SymbolId>,
    ) -> impl Iterator<Item = (u32, Tie)> {
        let first = self.0.partition_point(|found| found.at < body.start);
        let within = self.0[first..].iter().take_while(move |found| found.at < body.end);
        let outside = within.filter(move |found| {
            let declared = found.declared;
            (declared.start < body.start || declared.end > body.end) && Some(found.symbol) != own
        });
        outside.filter_map(|found| match (found.is_ctx, found.writes) {
            (true, _) => Some((found.at, Tie::OuterCtx)),
            (false, true) => Some((found.at, Tie::Writes)),
            (false, false) => None,
        })
    }
}

/// Whether a name stands where something changes what it holds: `list.push(…)`.
fn changes(semantic: &Semantic<'_>, node: oxc_semantic::NodeId) -> bool {
    let nodes = semantic.nodes();
    let member = nodes.parent_node(node);
    let AstKind::StaticMemberExpression(found) = member.kind() else {
        return false;
    };
    CHANGING.contains(&found.property.name.as_str())
        && matches!(nodes.parent_kind(member.id()), AstKind::CallExpression(call)
            if call.callee.span() == found.span)
}

/// A function that is given to a step: as it stands there, or by a name of the same module.
pub(super) struct Given {
    pub(super) span: Span,
    hash: String,
}

impl Given {
    pub(super) fn of(argument: &Argument<'_>, semantic: &Semantic<'_>) -> Option<Self> {
        let expression = argument.as_expression()?;
        if let Some(given) = Self::of_function(expression) {
            return Some(given);
        }
        let declared = semantic.symbol_declaration(symbol(expression, semantic.scoping())?);
        match declared.kind() {
            AstKind::VariableDeclarator(declared) => Self::of_function(declared.init.as_ref()?),
            AstKind::Function(function) => {
                let (start, end) = (index(function.span.start), index(function.span.end));
                let text = semantic.source_text().get(start..end)?;
                Some(Self { span: function.span, hash: hash_of(text) })
            }
            _ => None,
        }
    }

    fn of_function(expression: &Expression<'_>) -> Option<Self> {
        let (Expression::ArrowFunctionExpression(_) | Expression::FunctionExpression(_)) =
            expression
        else {
            return None;
        };
        // Printed anew: neither comments nor the way it is laid out count.
        let mut printer = Codegen::new().with_options(CodegenOptions::minify());
        printer.print_expression(expression);
        Some(Self { span: expression.span(), hash: hash_of(&printer.into_source_text()) })
    }

    pub(super) fn text(self, tied: Option<Site>) -> BodyText {
        BodyText { hash: self.hash, tied }
    }
}

fn hash_of(text: &str) -> String {
    let mut hash = hex(&Sha256::digest(text.as_bytes()));
    hash.truncate(32);
    hash
}

fn index(offset: u32) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}
