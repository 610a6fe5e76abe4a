//! TypeScript to JavaScript, with the way back.

use std::path::Path;

use oxc_allocator::Allocator;
use oxc_ast::ast::{Program, Statement};
use oxc_codegen::{Codegen, CodegenOptions};
use oxc_parser::Parser;
use oxc_semantic::SemanticBuilder;
use oxc_sourcemap::SourceMap;
use oxc_span::SourceType;
use oxc_transformer::{TransformOptions, Transformer};

use super::edits::Shifts;
use crate::diagnostic::Diagnostic;
use crate::position::Position;

/// What the engine understands.
const TARGET: &str = "es2023";

/// The way back from the code that runs to the author's text.
#[derive(Debug)]
pub(crate) struct PositionMap {
    map: Option<SourceMap<'static>>,
    shifts: Shifts,
}

impl PositionMap {
    /// Of a text that runs as it was written.
    pub(crate) fn unchanged() -> Self {
        Self { map: None, shifts: Shifts::default() }
    }

    /// Where something that the engine reports stands in the author's text.
    pub(crate) fn original(&self, at: Position) -> Position {
        let Some(map) = &self.map else {
            return at;
        };
        let table = map.generate_lookup_table();
        let (line, column) = (at.line.saturating_sub(1), at.column.saturating_sub(1));
        match map.lookup_token_approx(&table, line, column) {
            Some(token) => self.shifts.original(Position {
                line: token.get_src_line() + 1,
                column: token.get_src_col() + 1,
            }),
            None => at,
        }
    }
}

/// JavaScript, ready for the engine.
pub(super) struct Emitted {
    pub(super) code: String,
    pub(super) map: PositionMap,
    /// The modules that it imports when it is loaded.
    pub(super) imports: Vec<String>,
}

/// Takes the types out, and whatever else the engine does not understand.
pub(super) fn emit(name: &str, text: &str, shifts: Shifts) -> Result<Emitted, Diagnostic> {
    let broken =
        |found: &oxc_diagnostics::OxcDiagnostic| Diagnostic::from_parser(name, text, found);
    let (arena, path) = (Allocator::default(), Path::new(name));
    let parsed = Parser::new(&arena, text, source_type(name)).parse();
    if let Some(found) = parsed.diagnostics.errors().next() {
        return Err(broken(found));
    }
    let mut program = parsed.program;
    let built =
        SemanticBuilder::new().with_excess_capacity(2.0).with_enum_eval(true).build(&program);
    let options = TransformOptions::from_target(TARGET).unwrap_or_default();
    let scoping = built.semantic.into_scoping();
    let transformed =
        Transformer::new(&arena, path, &options).build_with_scoping(scoping, &mut program);
    if let Some(found) = transformed.diagnostics.errors().next() {
        return Err(broken(found));
    }
    let imports = imports(&program);
    let options =
        CodegenOptions { source_map_path: Some(path.into()), ..CodegenOptions::default() };
    let printed = Codegen::new().with_options(options).build(&program);
    let map = printed.map.map(SourceMap::into_owned);
    Ok(Emitted { code: printed.code, map: PositionMap { map, shifts }, imports })
}

/// What a file is, by its name.
pub(super) fn source_type(name: &str) -> SourceType {
    match SourceType::from_path(name) {
        Ok(found) if found.is_typescript() => found,
        _ => SourceType::mjs(),
    }
}

/// What a module imports when it is loaded.
pub(super) fn imports(program: &Program<'_>) -> Vec<String> {
    let source = |statement: &Statement<'_>| match statement {
        Statement::ImportDeclaration(import) => Some(import.source.value.to_string()),
        Statement::ExportAllDeclaration(export) => Some(export.source.value.to_string()),
        Statement::ExportFromDeclaration(export) => Some(export.source.value.to_string()),
        _ => None,
    };
    program.body.iter().filter_map(source).collect()
}
