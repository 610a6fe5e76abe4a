//! Names that people give to features and issues become names of files.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::support::Stand;

const NAMES: &str = r#"
import { createWorkflow } from "agentos";
import { slug } from "../lib/sdlc.ts";
export default createWorkflow({ name: "names" }, async () =>
  ["Discounts, and more", "Größe", "Grüße", "割引", "返品", "!!!", "割引 ", "Cafe\u0301", "Café"].map(slug));
"#;

#[test]
fn names_without_ascii_letters_are_kept_apart() {
    let (stand, root) = Stand::with_repository();
    let program = Path::new(env!("CARGO_BIN_EXE_agentos"));
    let call = |arguments: &[&str]| stand.call_program(program, &root, arguments).done();
    call(&["init", "--examples"]).exits(0);
    fs::write(root.join(".agent/workflows/templates/names.ts"), NAMES).expect("a template");
    let run = call(&["run", "names", "--json"]).exits(0).document();
    let slugs: Vec<&str> =
        run["output"].as_array().expect("a list").iter().filter_map(|slug| slug.as_str()).collect();
    assert_eq!(slugs[0], "discounts-and-more", "what can be written in ASCII stays as it was");
    let different = slugs.iter().collect::<std::collections::BTreeSet<_>>().len();
    assert_eq!((different, slugs[7]), (8, slugs[8]), "{:#}", json!(slugs));
    let is_plain = |slug: &&str| {
        slug.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    assert!(slugs.iter().all(is_plain), "{slugs:?}");
    assert!(slugs[1].starts_with("gr-e-") && slugs[3].starts_with("unnamed-"), "{slugs:?}");
}
