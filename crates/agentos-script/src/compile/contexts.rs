//! Which names of a module stand for a `ctx`.
//!
//! Attribution is decided when a module is compiled: a name stands for a `ctx` because of where it is declared, never
//! because of what it holds when the code runs. These do: the parameter of a workflow's function, the parameter of the
//! body of a step or phase, a parameter whose type is `WorkflowContext`, a parameter called `ctx`, and a constant that
//! is set to one of them.

use std::collections::HashSet;

use oxc_ast::AstKind;
use oxc_ast::ast::{
    Argument, BindingPattern, CallExpression, Expression, FormalParameter, FormalParameters,
    TSType, TSTypeName,
};
use oxc_semantic::{Scoping, Semantic, SymbolId};

/// The calls that begin a scope.
pub(super) const SCOPES: [&str; 2] = ["run", "phase"];

/// The names that stand for a `ctx`.
#[derive(Debug)]
pub(super) struct Contexts(HashSet<SymbolId>);

impl Contexts {
    pub(super) fn of(semantic: &Semantic<'_>) -> Self {
        let mut found = Self(HashSet::new());
        // In the order of the source: a step stands inside of what gave it its `ctx`.
        for node in semantic.nodes().iter() {
            match node.kind() {
                AstKind::FormalParameter(parameter) if names_itself(parameter) => {
                    found.add(&parameter.pattern);
                }
                AstKind::VariableDeclarator(declared) => {
                    if let Some(Expression::Identifier(_)) = &declared.init
                        && found.is_ctx(declared.init.as_ref(), semantic.scoping())
                    {
                        found.add(&declared.id);
                    }
                }
                AstKind::CallExpression(call) => found.add_parameter_of(call, semantic.scoping()),
                _ => {}
            }
        }
        found
    }

    fn add(&mut self, pattern: &BindingPattern<'_>) {
        if let BindingPattern::BindingIdentifier(name) = pattern {
            self.0.extend(name.symbol_id.get());
        }
    }

    /// The parameter of the function that this call is given, if it gets a `ctx`.
    fn add_parameter_of(&mut self, call: &CallExpression<'_>, scoping: &Scoping) {
        let gives = match &call.callee {
            Expression::Identifier(callee) => callee.name == "createWorkflow",
            callee => scope_call(callee).is_some_and(|object| self.is_ctx(Some(object), scoping)),
        };
        let parameters = call.arguments.get(1).and_then(parameters).filter(|_| gives);
        if let Some(first) = parameters.and_then(|parameters| parameters.items.first()) {
            self.add(&first.pattern);
        }
    }

    /// Whether an expression is the name of a `ctx`.
    pub(super) fn is_ctx(&self, of: Option<&Expression<'_>>, scoping: &Scoping) -> bool {
        let symbol = of.and_then(|expression| symbol(expression, scoping));
        symbol.is_some_and(|symbol| self.contains(symbol))
    }

    pub(super) fn contains(&self, symbol: SymbolId) -> bool {
        self.0.contains(&symbol)
    }
}

/// The object whose `run` or `phase` is called.
pub(super) fn scope_call<'e, 'a>(callee: &'e Expression<'a>) -> Option<&'e Expression<'a>> {
    match callee {
        Expression::StaticMemberExpression(member)
            if SCOPES.contains(&member.property.name.as_str()) =>
        {
            Some(&member.object)
        }
        _ => None,
    }
}

/// What an identifier stands for.
pub(super) fn symbol(expression: &Expression<'_>, scoping: &Scoping) -> Option<SymbolId> {
    match expression {
        Expression::Identifier(name) => scoping.get_reference(name.reference_id.get()?).symbol_id(),
        _ => None,
    }
}

/// The parameters of a function that stands there as it is.
pub(super) fn parameters<'e, 'a>(argument: &'e Argument<'a>) -> Option<&'e FormalParameters<'a>> {
    match argument {
        Argument::ArrowFunctionExpression(function) => Some(&function.params),
        Argument::FunctionExpression(function) => Some(&function.params),
        _ => None,
    }
}

fn names_itself(parameter: &FormalParameter<'_>) -> bool {
    let named =
        matches!(&parameter.pattern, BindingPattern::BindingIdentifier(name) if name.name == "ctx");
    let annotation =
        parameter.type_annotation.as_ref().map(|annotation| &annotation.type_annotation);
    let typed = match annotation {
        Some(TSType::TSTypeReference(reference)) => match &reference.type_name {
            TSTypeName::IdentifierReference(name) => name.name == "WorkflowContext",
            _ => false,
        },
        _ => false,
    };
    named || typed
}
