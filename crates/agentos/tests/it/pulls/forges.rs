//! Which forge it is, and where the token comes from.

use agentos_testing::forge::{Fault, Strike, TOKEN};
use serde_json::json;

use super::{OPEN, Site, WORK, is_seen, message, program};

#[test]
fn gitlab_and_forgejo_are_spoken_to_by_their_own_words() {
    for (address, kind, api, variable) in [
        ("https://gitlab.com/acme/shop.git", "gitlab", "/api/v4", "GITLAB_TOKEN"),
        ("git@codeberg.org:acme/shop.git", "forgejo", "/api/v1", "FORGEJO_TOKEN"),
    ] {
        let site = Site::at(address);
        site.config(&format!(
            "[forge]\nkind = \"{kind}\"\napi_url = \"{}{api}\"\n",
            site.forge.url()
        ));
        site.workflow("ship", &format!("{WORK}{OPEN}"));
        let failed = site.fails("ship");
        assert!(message(&failed).contains(variable), "{}", message(&failed));
        let done = site.call_without_token(&["run", "ship", "--json"]).env(variable, TOKEN).done();
        let output = done.exits(0).document()["output"].clone();
        assert_eq!((&output["forge"], &output["number"]), (&json!(kind), &json!(1)));
        assert_eq!(site.forge.pulls()[0].head, "agentos/basket");
    }
}

#[test]
fn a_host_of_ones_own_is_a_forge_if_the_configuration_says_so() {
    let site = Site::at("https://code.example.org/acme/shop.git");
    site.workflow("ship", &format!("{WORK}{OPEN}"));
    let output = site.output("ship");
    assert_eq!(
        (&output["prUrl"], &output["forge"], &output["number"]),
        (&json!(null), &json!(null), &json!(null))
    );
    assert_eq!(
        (&output["created"], &output["pushed"]["outcome"]),
        (&json!(false), &json!("created"))
    );
    let note = output["note"].as_str().expect("a note");
    assert!(
        note.contains("`code.example.org` is no forge that is known")
            && note.contains("forge.host"),
        "{note}"
    );
    let log = site.call(&["logs", "ship"]).done().exits(0).out;
    assert!(log.contains("no pull request opened"), "{log}");
    assert_eq!(site.there("agentos/basket"), Some(site.git(&["rev-parse", "agentos/basket"])));

    site.config(&format!(
        "[forge]\nhost = \"code.example.org\"\nkind = \"forgejo\"\napi_url = \"{}/api/v1\"\ntoken_env = \"SHOP_PASS\"\n",
        site.forge.url()
    ));
    let failed = site.fails("ship");
    assert!(message(&failed).contains("looked for SHOP_PASS"), "{}", message(&failed));
    let done = site.call(&["run", "ship", "--json"]).env("SHOP_PASS", TOKEN).done().exits(0);
    assert_eq!(done.document()["output"]["forge"], "forgejo");
}

#[test]
fn a_remote_on_this_machine_is_only_pushed_to() {
    let site = Site::new();
    let path = site.remote.display().to_string();
    site.git(&["remote", "set-url", "origin", &path]);
    site.workflow("ship", &format!("{WORK}{OPEN}"));
    let output = site.output("ship");
    assert_eq!((&output["forge"], &output["pushed"]["url"]), (&json!(null), &json!(path)));
    assert!(output["note"].as_str().is_some_and(|note| note.contains("on no forge")), "{output}");
}

#[test]
fn a_host_that_only_looks_like_a_forge_gets_no_token() {
    let site = Site::at("https://github.example.org/acme/shop.git");
    site.workflow("ship", &format!("{WORK}{OPEN}"));
    let output = site.output("ship");
    assert_eq!(output["forge"], json!(null));
    assert_eq!(site.forge.received().len(), 0);
}

#[test]
fn without_a_token_everything_that_was_looked_for_is_named_and_nothing_is_pushed() {
    let site = Site::new();
    site.workflow("ship", &format!("{WORK}{OPEN}"));
    // A `gh` nobody has logged in with.
    program(&site.stand.at("bin/gh"), "exit 1");
    let path =
        format!("{}:{}", site.stand.at("bin").display(), std::env::var("PATH").expect("a path"));
    let failed = site.call_without_token(&["run", "ship", "--json"]).env("PATH", path).done();
    let failed = failed.exits(1).document();
    let said = message(&failed);
    for part in ["GitHub (github.com)", "GITHUB_TOKEN", "GH_TOKEN", "gh auth"] {
        assert!(said.contains(part), "`{part}` is missing in {said}");
    }
    assert_eq!((site.there("agentos/basket"), site.forge.received().len()), (None, 0));
}

#[test]
fn whoever_is_logged_in_with_gh_needs_no_variable() {
    let site = Site::new();
    site.workflow("ship", &format!("{WORK}{OPEN}"));
    let script = format!(
        "[ \"$*\" = \"auth token --hostname github.com\" ] || exit 1\n[ -z \"$AGENTOS_OPERATION$GITHUB_API_URL\" ] || exit 1\n\
         echo {TOKEN}"
    );
    program(&site.stand.at("bin/gh"), &script);
    let path =
        format!("{}:{}", site.stand.at("bin").display(), std::env::var("PATH").expect("a path"));
    let done =
        site.call_without_token(&["run", "ship", "--json"]).env("PATH", path).done().exits(0);
    assert_eq!(done.document()["output"]["created"], true);
    assert!(!is_seen(TOKEN, &site.root, &done), "a token is nowhere to be seen");
}

#[test]
fn a_token_is_nowhere_to_be_seen_and_nobody_is_handed_it() {
    let site = Site::new();
    let look = "  const seen = (await ctx.shell(\"printenv\")).stdout;\n";
    site.workflow("ship", &format!("{WORK}{look}{}", OPEN.replace("return", "const open =")));
    // A hook prints its environment.
    program(&site.root.join(".git/hooks/pre-push"), "printenv > printed.mark; printenv >&2");
    site.forge.strike(Strike {
        method: "POST",
        path: "/pulls",
        fault: Fault::Status(500),
        times: 1,
    });
    let done = site.call(&["run", "ship", "--json"]).done().exits(0);
    assert_eq!(site.forge.pulls().len(), 1);
    let printed = std::fs::read_to_string(site.root.join("printed.mark")).expect("the hook ran");
    assert!(printed.contains("PATH="), "{printed}");
    assert!(!is_seen(TOKEN, &site.root, &done), "a token is nowhere to be seen");
}

#[test]
fn a_secret_in_the_words_of_a_workflow_is_not_shown_on_the_forge() {
    let site = Site::new();
    let body = format!(
        "  await ctx.git.createPr({{ title: \"{TOKEN}\", body: \"the key is {TOKEN}\" }});"
    );
    site.workflow("ship", &format!("{WORK}{body}"));
    site.output("ship");
    let pull = &site.forge.pulls()[0];
    assert_eq!(pull.title, "***");
    assert!(pull.body.contains("the key is ***") && !pull.body.contains(TOKEN), "{}", pull.body);
}

#[test]
fn a_wrong_configuration_is_named_with_its_line() {
    let site = Site::new();
    for (text, part) in [
        ("[forge]\nkind = \"bitbucket\"\n", "must be `github`, `gitlab` or `forgejo`"),
        ("[forge]\nhost = \"https://x\"\n", "must be a host"),
        ("[forge]\napi_url = \"x\"\n", "must be an address"),
        ("[forge]\ntoken_env = \"ghp_x-y\"\n", "must be the name of a variable"),
        ("[forge]\ntoken = \"x\"\n", "unknown key `forge.token`"),
        ("[git]\npr_template = \"../x\"\n", "must be a path inside"),
    ] {
        site.config(text);
        let done = site.call(&["config"]).done().exits(2);
        assert!(
            done.err.contains(part) && done.err.contains("config.toml:2"),
            "{text}: {}",
            done.err
        );
    }
}
