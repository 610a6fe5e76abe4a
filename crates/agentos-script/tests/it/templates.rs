//! The templates of a project: what is found, and what is said about the rest.

use std::path::Path;

use agentos_script::assets::ASSETS;
use agentos_script::definition::Definition;
use agentos_script::sources::Sources;
use agentos_script::templates::{Templates, load_template, load_templates};
use serde_json::json;
use tempfile::TempDir;

use crate::support::{Bench, workflow};

/// A project with a folder of workflows.
pub(crate) struct Project(TempDir);

impl Project {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file below the folder of the workflows.
    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        self.write_at(&format!(".agent/workflows/{name}"), text);
    }

    /// Writes a file of the project.
    pub(crate) fn write_at(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }

    fn load(&self) -> Templates {
        load_templates(self.path())
    }

    /// The one thing that is wrong.
    fn wrong(&self) -> agentos_script::diagnostic::Diagnostic {
        let mut found = self.load();
        assert_eq!(found.diagnostics.len(), 1, "{:?}", found.diagnostics);
        found.diagnostics.remove(0)
    }
}

#[test]
fn a_project_without_templates_has_no_workflows() {
    let found = Project::new().load();
    assert!(found.workflows.is_empty() && found.diagnostics.is_empty());
}

#[test]
fn what_init_writes_works() {
    let project = Project::new();
    for asset in ASSETS {
        project.write_at(asset.path, asset.text);
    }
    let found = project.load();
    assert!(found.diagnostics.is_empty(), "{:?}", found.diagnostics);
    let hello = &found.workflows["hello"];
    let config = hello.config();
    assert_eq!(config.input.as_ref().expect("a schema")["required"], json!(["name"]));
    let driven = Bench::new(hello.clone()).input(json!({ "name": "you" })).run();
    assert_eq!(driven.output()["greeting"], json!("echo"));
}

#[test]
fn modules_import_each_other() {
    let project = Project::new();
    project.write(
        "templates/a.ts",
        "import { createWorkflow } from '@repo/workflow-sdk';\nimport { review } from '../lib/review';\n\
         import { Mode } from './shared.js';\nimport type { Gone } from './nowhere';\n\
         export default createWorkflow({ name: 'a' }, async (ctx) => [await review(ctx), Mode.Fast as Gone]);",
    );
    project.write("templates/shared.ts", "export enum Mode { Fast = 'fast' }\nexport default 1;");
    project.write(
        "lib/review.ts",
        "import type { WorkflowContext } from 'agentos';\nimport { twice } from './deep/index.ts';\n\
         export const review = (c: WorkflowContext) => c.run('review', async () => twice((await c.shell('x')).stdout));",
    );
    project
        .write("lib/deep/index.ts", "export const twice = (text: string): string => text + text;");
    let found = project.load();
    let definition = &found.workflows["a"];
    assert_eq!(*Bench::new(definition.clone()).run().output(), json!(["xx", "fast"]));
    let names: Vec<&String> = definition.sources().modules.keys().collect();
    assert_eq!(
        names,
        ["lib/deep/index.ts", "lib/review.ts", "templates/a.ts", "templates/shared.ts"]
    );
    // The other file is no workflow, and said to be none; `a` loads all the same.
    assert_eq!(found.diagnostics.len(), 1);
    assert!(found.diagnostics[0].message.contains("exports no workflow"));
}

#[test]
fn a_definition_outlives_its_files() {
    let project = Project::new();
    project.write(
        "templates/a.ts",
        format!("import {{ n }} from '../lib/n';\n{}", workflow("return n;")),
    );
    project.write("lib/n.ts", "export const n = 7;");
    let first = load_template(project.path(), "a.ts").expect("a workflow");
    let kept = first.sources().to_text();
    project.write("lib/n.ts", "export const n = 8;");
    let second = load_template(project.path(), "a.ts").expect("a workflow");
    assert_ne!(first.hash(), second.hash());
    drop(project);
    let sources = Sources::from_text(&kept).expect("kept sources");
    let again = Definition::compile(&sources).expect("a workflow");
    assert_eq!(again.hash(), first.hash());
    assert_eq!(*Bench::new(again.into()).run().output(), json!(7));
}

#[test]
fn packages_that_are_plain_modules_can_be_imported() {
    let project = Project::new();
    project.write_at(
        "node_modules/plain/package.json",
        r#"{ "type": "module", "main": "./lib/a.js" }"#,
    );
    project.write_at("node_modules/plain/lib/a.js", "export { b as a } from './b.js';");
    project.write_at(
        "node_modules/plain/lib/b.js",
        "import { c } from '@s/other/sub'; export const b = c + 1;",
    );
    project.write_at(
        "node_modules/@s/other/package.json",
        r#"{ "exports": { "./*": { "require": "./no.cjs", "import": "./src/*.mjs" } } }"#,
    );
    project.write_at("node_modules/@s/other/src/sub.mjs", "export const c = 1;");
    project.write(
        "templates/a.ts",
        format!("import {{ a }} from 'plain';\n{}", workflow("return a;")),
    );
    let definition = load_template(project.path(), "a.ts").expect("a workflow");
    assert_eq!(*Bench::new(definition.into()).run().output(), json!(2));

    project.write_at("node_modules/old/package.json", r#"{ "main": "./index.js" }"#);
    project.write_at("node_modules/old/index.js", "module.exports = 1;");
    project.write("templates/a.ts", format!("import x from 'old';\n{}", workflow("return x;")));
    let error = load_template(project.path(), "a.ts").unwrap_err();
    assert!(error.message.contains("no plain ES module"), "{error}");
    assert_eq!(error.line, Some(1));
}

#[test]
fn a_broken_template_is_reported_with_its_line_and_the_others_load() {
    let project = Project::new();
    project.write("templates/good.ts", workflow("return 1;"));
    project.write("templates/bad.ts", "import { createWorkflow } from 'agentos';\nconst x = ;\n");
    let found = project.load();
    assert_eq!(found.workflows.len(), 1);
    let error = &found.diagnostics[0];
    assert_eq!(
        (error.file.as_str(), error.line, error.column),
        ("templates/bad.ts", Some(2), Some(11))
    );
    let shown = error.to_string();
    assert!(shown.contains("    2 | const x = ;\n      |           ^"), "{shown}");
}

#[test]
fn bad_templates_are_told_what_is_wrong() {
    let named = |name: &str| workflow("return 1;").replace("\"test\"", name);
    for (text, words, line) in [
        ("export const a = 1;".to_owned(), "exports no workflow", None),
        ("export default { name: 'a' };".to_owned(), "exports no workflow", None),
        (named("\"a/b\""), "`a/b` can't be the name", Some(2)),
        (named("\"\""), "can't be the name", Some(2)),
        (named("7"), "invalid type", Some(2)),
        (named("\"a\", promt: 1"), "unknown field `promt`", Some(2)),
        (named("\"a\", timeout: -5"), "-5 is not a time", Some(2)),
        (format!("throw new Error('at load');\n{}", workflow("return 1;")), "at load", Some(1)),
        (format!("import {{ gone }} from 'agentos'; gone;\n{}", workflow("")), "gone", None),
        (format!("import '../../../outside';\n{}", workflow("")), "outside of .agent/workflows", Some(1)),
        (format!("import './nowhere';\n{}", workflow("")), "no such file", Some(1)),
        (format!("import 'nopackage';\n{}", workflow("")), "no package `nopackage`", Some(1)),
        (format!("import fs from 'node:fs'; fs;\n{}", workflow("")), "no such module", Some(1)),
        ("import { createWorkflow } from 'agentos';\nexport default createWorkflow({ name: 'a' });".to_owned(), "body is a function", Some(2)),
        ("// ".to_owned() + &"x".repeat(5 * 1024 * 1024), "at most", None),
        ("// ".to_owned() + &"x".repeat(2 * 1024 * 1024), "at most 1048576", None),
    ] {
        let project = Project::new();
        project.write("templates/a.ts", &text);
        let error = project.wrong();
        let start: String = text.chars().take(80).collect();
        assert!(error.message.contains(words), "{start}: {error}");
        assert_eq!(error.line, line, "{start}: {error}");
        assert_eq!(error.file, "templates/a.ts");
    }
}

#[test]
fn a_file_that_is_no_text_is_refused() {
    let project = Project::new();
    project.write("templates/a.ts", b"// fine\n// \xff\xfe\n");
    let error = project.wrong();
    assert!(error.message.contains("not UTF-8"), "{error}");
    assert_eq!(error.line, Some(2));
}

#[test]
fn of_two_workflows_of_one_name_the_first_stays() {
    let project = Project::new();
    project.write("templates/a.ts", workflow("return 'first';"));
    project.write("templates/b.ts", workflow("return 'second';"));
    let error = project.wrong();
    assert_eq!(error.file, "templates/b.ts");
    assert!(error.message.contains("in templates/a.ts"), "{error}");
    assert_eq!(project.load().workflows["test"].sources().entry, "templates/a.ts");
}

#[test]
fn circular_imports_work_as_far_as_the_language_lets_them() {
    let project = Project::new();
    project.write("lib/one.ts", "import { two } from './two';\nexport const one = () => two;\n");
    project.write(
        "lib/two.ts",
        "import { one } from './one';\nexport const two = 2;\nexport const again = () => one();\n",
    );
    project.write(
        "templates/a.ts",
        format!("import {{ one }} from '../lib/one';\n{}", workflow("return one();")),
    );
    let definition = load_template(project.path(), "a.ts").expect("a workflow");
    assert_eq!(*Bench::new(definition.into()).run().output(), json!(2));

    project.write("lib/one.ts", "import { two } from './two';\nexport const one = two + 1;\n");
    project.write("lib/two.ts", "import { one } from './one';\nexport const two = one + 1;\n");
    project.write(
        "templates/a.ts",
        format!("import {{ one }} from '../lib/one';\n{}", workflow("return one;")),
    );
    let error = load_template(project.path(), "a.ts").unwrap_err();
    assert_eq!((error.file.as_str(), error.line), ("lib/two.ts", Some(2)), "{error}");
}
