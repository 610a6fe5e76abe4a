//! From one TypeScript module to JavaScript that the engine can run, and to what is known of its steps.
//!
//! Nothing is executed here and no file is read: a text goes in, a [`CompiledModule`] comes out. Modules of packages are
//! taken as they are; only their imports are looked for.

mod bodies;
mod contexts;
mod edits;
mod emit;
mod lint;
mod places;
mod rewrite;

use agentos_core::source::{BodyText, Site};
use oxc_allocator::Allocator;
use oxc_parser::{Parser, ParserReturn};
use oxc_semantic::{Semantic, SemanticBuilder};

use self::bodies::Uses;
use self::contexts::Contexts;
pub(crate) use self::emit::PositionMap;
use self::rewrite::Rewrite;
use crate::diagnostic::Diagnostic;
use crate::position::Lines;

/// What is known of a call on `ctx` before it is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallSite {
    /// Where it stands.
    pub(crate) site: Site,
    /// What the body says that it gives, where it is a step.
    pub(crate) body: Option<BodyText>,
}

/// A module, ready for the engine.
#[derive(Debug)]
pub(crate) struct CompiledModule {
    pub(crate) code: String,
    pub(crate) map: PositionMap,
    pub(crate) calls: Vec<CallSite>,
    /// What it imports when it is loaded, and what it may import later by a name that is written out.
    pub(crate) imports: Vec<String>,
}

/// A text and its name.
struct Source<'t> {
    name: &'t str,
    text: &'t str,
    lines: Lines<'t>,
}

impl<'t> Source<'t> {
    fn new(name: &'t str, text: &'t str) -> Self {
        Self { name, text, lines: Lines::of(text) }
    }
}

/// Compiles a module of one's own. Its calls are numbered from `first_call`.
///
/// # Errors
/// What the parser has to say.
pub(crate) fn compile(
    name: &str,
    text: &str,
    first_call: usize,
) -> Result<CompiledModule, Diagnostic> {
    let source = Source::new(name, text);
    let arena = Allocator::default();
    let parsed = parse(&arena, &source)?;
    let dynamic = dynamic_imports(&parsed, text);
    let semantic = analyse(&parsed, &source)?;
    let contexts = Contexts::of(&semantic);
    let uses = Uses::of(&semantic, &contexts);
    let Rewrite { edits, calls, .. } =
        Rewrite::of(&source, &semantic, &contexts, &uses, first_call);
    let (edited, shifts) = edits.apply(text);
    let emit::Emitted { code, map, mut imports } = emit::emit(name, &edited, shifts)?;
    imports.extend(dynamic);
    Ok(CompiledModule { code, map, calls, imports })
}

/// Takes a module of a package as it is.
///
/// # Errors
/// What the parser has to say: it is no plain ES module.
pub(crate) fn adopt(name: &str, text: &str) -> Result<CompiledModule, Diagnostic> {
    let source = Source::new(name, text);
    let arena = Allocator::default();
    let parsed = parse(&arena, &source)?;
    let mut imports = emit::imports(&parsed.program);
    imports.extend(dynamic_imports(&parsed, text));
    let map = PositionMap::unchanged();
    Ok(CompiledModule { code: text.to_owned(), map, calls: Vec::new(), imports })
}

/// What in a module works, but hardly as its author thinks. A module that can't be parsed has nothing of the kind.
pub(crate) fn lint(name: &str, text: &str) -> Vec<Diagnostic> {
    let source = Source::new(name, text);
    let arena = Allocator::default();
    let Ok(parsed) = parse(&arena, &source) else {
        return Vec::new();
    };
    match analyse(&parsed, &source) {
        Ok(semantic) => lint::lint(&source, &semantic),
        Err(_) => Vec::new(),
    }
}

/// The byte of a module at which the property with this path begins, if the path is written out there.
pub(crate) fn place_of_property(name: &str, text: &str, path: &[&str]) -> Option<u32> {
    let source = Source::new(name, text);
    let arena = Allocator::default();
    let parsed = parse(&arena, &source).ok()?;
    let semantic = analyse(&parsed, &source).ok()?;
    places::property(&semantic, path)
}

fn parse<'a>(arena: &'a Allocator, source: &Source<'a>) -> Result<ParserReturn<'a>, Diagnostic> {
    let parsed = Parser::new(arena, source.text, emit::source_type(source.name)).parse();
    let first = parsed.diagnostics.errors().next();
    let broken = first.map(|found| Diagnostic::from_parser(source.name, source.text, found));
    broken.map_or(Ok(parsed), Err)
}

fn analyse<'a>(
    parsed: &'a ParserReturn<'a>,
    source: &Source<'_>,
) -> Result<Semantic<'a>, Diagnostic> {
    let builder = SemanticBuilder::new().with_build_nodes(true).with_check_syntax_error(true);
    let built = builder.build(&parsed.program);
    match built.diagnostics.errors().next() {
        Some(found) => Err(Diagnostic::from_parser(source.name, source.text, found)),
        None => Ok(built.semantic),
    }
}

/// `import("./part.ts")`: only names that are written out can be part of the definition.
fn dynamic_imports(parsed: &ParserReturn<'_>, text: &str) -> Vec<String> {
    let found = parsed.module_record.dynamic_imports.iter().filter_map(|import| {
        let span = import.module_request;
        let quoted =
            text.get(usize::try_from(span.start).ok()?..usize::try_from(span.end).ok()?)?;
        let inner = quoted.strip_prefix(['"', '\''])?.strip_suffix(['"', '\''])?;
        (!inner.contains(['\\', '"', '\''])).then(|| inner.to_owned())
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiled(text: &str) -> CompiledModule {
        compile("templates/a.ts", text, 0).unwrap()
    }

    #[test]
    fn types_are_taken_out_and_enums_are_kept() {
        let module = compiled(
            "import type { A } from './a';\nimport { B } from './b';\nenum E { X = 2 }\n\
             export const e = E.X satisfies number;\nexport function f<T>(x: T): T { return x as T }\n\
             let b: B;\n",
        );
        assert!(!module.code.contains("satisfies") && module.code.contains('2'), "{}", module.code);
        assert_eq!(module.imports, [""; 0]);
    }

    #[test]
    fn a_body_without_a_parameter_gets_one() {
        let module = compiled(
            "export async function f(ctx) { await ctx.run('a', async () => ctx.shell('x')) }",
        );
        assert!(module.code.contains("async (ctx) =>"), "{}", module.code);
        assert_eq!(module.calls.len(), 2);
        assert_eq!(module.calls[0].body.as_ref().unwrap().tied, None);
        assert_eq!(module.calls[1].site.as_str(), "templates/a.ts:1:63");
    }

    #[test]
    fn a_body_of_something_else_is_left_alone() {
        let module = compiled("export const f = (pool) => pool.run('a', async () => pool.size)");
        assert!(!module.code.contains("async (pool)"), "{}", module.code);
    }

    #[test]
    fn a_body_that_declares_the_name_itself_is_left_alone() {
        let text = "export async function f(ctx) { await ctx.run('a', async () => { const ctx = 1; return ctx; }) }";
        assert!(!compiled(text).code.contains("async (ctx) =>"));
    }

    #[test]
    fn a_body_is_tied_by_what_it_writes_or_uses() {
        let tied = |body: &str| {
            let text = format!(
                "export async function f(ctx) {{ let t = 0; const l = []; await ctx.run('a', {body}); }}"
            );
            let module = compiled(&text);
            module.calls[0].body.clone().unwrap().tied.is_some()
        };
        assert!(!tied("async () => t + 1"));
        assert!(!tied("async () => { let u = 0; u = 1; return u; }"));
        assert!(!tied("async () => { await ctx.run('b', async () => ctx.set('k', 1)); }"));
        assert!(tied("async () => { t = 1; }"));
        assert!(tied("async () => { l.push(1); }"));
        assert!(tied("async () => { l[0] = 1; }"));
        assert!(tied("async (step) => { await ctx.shell('x'); }"));
    }

    #[test]
    fn the_text_of_a_body_is_what_it_does() {
        let hash = |body: &str| {
            let module = compiled(&format!("export const f = (ctx) => ctx.run('a', {body});"));
            module.calls[0].body.clone().unwrap().hash
        };
        assert_eq!(hash("async () => 1"), hash("async ()  =>\n /* one */ 1"));
        assert_ne!(hash("async () => 1"), hash("async () => 2"));
        assert_ne!(hash("async () => 'a b'"), hash("async () => 'a  b'"));
    }

    #[test]
    fn places_lead_back_to_the_source() {
        let text = "interface A { x: number }\nexport async function f(ctx) {\n  await ctx.run('a', async () => { throw new Error('x') });\n}";
        let module = compiled(text);
        let (line, code) =
            module.code.lines().enumerate().find(|(_, code)| code.contains("throw")).unwrap();
        let column = code.find("throw").unwrap();
        let at = crate::position::Position {
            line: u32::try_from(line).unwrap() + 1,
            column: u32::try_from(column).unwrap() + 1,
        };
        let found = module.map.original(at);
        assert_eq!((found.line, found.column), (3, 36));
    }

    #[test]
    fn calls_of_files_and_git_know_their_place_and_others_are_left_alone() {
        let text = "export async function f(ctx) {\n  await ctx.run('a', async (step) => {\n    await step.git.status();\n    await step.files.read('x');\n  });\n  repo.git.status();\n}";
        let module = compiled(text);
        let places: Vec<String> = module.calls.iter().map(|call| call.site.to_string()).collect();
        assert_eq!(places, ["templates/a.ts:2:9", "templates/a.ts:3:11", "templates/a.ts:4:11"]);
        assert!(module.code.contains("repo.git.status()"), "{}", module.code);
    }

    #[test]
    fn a_syntax_error_has_its_line() {
        let error = compile("templates/a.ts", "const a = 1;\nconst = 2;\n", 0).unwrap_err();
        assert_eq!((error.line, error.column), (Some(2), Some(7)));
        assert_eq!(error.frame.len(), 2);
    }
}
