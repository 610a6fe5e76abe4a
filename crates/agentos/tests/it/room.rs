//! A disk that is full while something is said: all of it is in the answer, however long it takes until there is
//! room. Project, database, logs and transcripts are on that disk.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::server::stage::template;
use crate::small_disk::SmallDisk;
use crate::support::{Process, Stand, lines, wait_until};

/// A project on a small disk, and a folder beside it through which the test and the run talk to each other.
struct Scene {
    /// Where the database is, if not with the project.
    database: Option<PathBuf>,
    stand: Stand,
    disk: SmallDisk,
    root: PathBuf,
    beside: PathBuf,
    /// Whether the runs' database can't be written to, which `status` tells.
    is_told_by_status: bool,
}

/// Waits for the test, says something, and says that it has.
fn speaking(beside: &Path, words: &str) -> String {
    format!(
        "cd {}; echo x >> count; touch begun; until [ -e go ]; do sleep 0.02; done; {words}; touch said",
        beside.display()
    )
}

/// Uses all bytes of the disk.
const BYTES: &str = "cat /dev/zero > rest 2> /dev/null; true";

/// Uses all inodes of the disk.
const INODES: &str = "mkdir rest; i=0; while touch rest/$i 2> /dev/null; do i=$((i+1)); done";

impl Scene {
    /// A disk with these options, and a project with a workflow and a configuration.
    fn new(options: &str, body: impl FnOnce(&Path) -> String, config: &str) -> Self {
        let stand = Stand::new();
        let (origin, beside) = (stand.repository("origin"), stand.folder("beside"));
        let folder = origin.join(".agent/workflows/templates");
        fs::create_dir_all(&folder).expect("a folder");
        let text = format!(
            "import {{ createWorkflow, agent }} from \"agentos\";\n\
             export default createWorkflow({{ name: \"work\" }}, async (ctx) => {{\n{}\n}});\n",
            body(&beside)
        );
        fs::write(folder.join("work.ts"), text).expect("a template");
        fs::write(origin.join(".agent/config.toml"), config).expect("a configuration");
        stand.git(&origin, &["add", "."]);
        stand.git(&origin, &["commit", "--quiet", "-m", "a workflow"]);
        let mut disk = SmallDisk::new(&stand, options);
        disk.shell(&stand, &format!("git clone --quiet {} repo", origin.display()));
        let root = disk.place.join("repo");
        Self { database: None, stand, disk, root, beside, is_told_by_status: false }
    }

    fn agentos(&mut self, arguments: &[&str]) -> Process {
        let words = [&[env!("CARGO_BIN_EXE_agentos")], arguments].concat();
        let call = self.disk.call(&self.stand, &self.root, &words);
        match &self.database {
            Some(database) => call.env("AGENTOS_WORKFLOW_DB", database).start(),
            None => call.start(),
        }
    }

    fn until(&self, file: &str) {
        wait_until(&format!("there is {file}"), || self.beside.join(file).exists());
    }

    /// Fills the disk before the run speaks, and makes room when it has spoken.
    fn finished(&mut self, how: &str) -> Value {
        let mut process = self.agentos(&["run", "work", "--json"]);
        self.until("begun");
        self.disk.shell(&self.stand, how);
        fs::write(self.beside.join("go"), "").expect("a file");
        self.until("said");
        assert!(process.has_ended().is_none(), "it waits for room");
        if self.is_told_by_status {
            let told = self.agentos(&["status"]).done().exits(0);
            assert!(told.err.contains("there is no room on the disk of"), "{told:#?}");
        }
        self.disk.shell(&self.stand, "rm -r rest");
        let run = process.done().exits(0).document();
        assert_eq!(lines(&self.beside.join("count")).len(), 1, "it was done once");
        run
    }

    /// What people read of it.
    fn logs(&mut self, run: &Value) -> String {
        let name = run["run_id"].as_str().expect("a name").to_owned();
        self.agentos(&["logs", &name]).done().exits(0).out
    }
}

fn whole_answer_of_a_command(options: &str, how: &str) {
    let body = |beside: &Path| {
        let command = speaking(beside, "echo 42; echo 43 >&2");
        format!("return await ctx.run(\"ask\", async () => await ctx.shell({command:?}));")
    };
    let mut scene = Scene::new(options, body, "");
    scene.is_told_by_status = how == BYTES;
    let run = scene.finished(how);
    let output = &run["output"];
    assert_eq!((&output["stdout"], &output["stderr"]), (&"42\n".into(), &"43\n".into()), "{run:#}");
    assert_eq!((&output["exitCode"], &output["truncated"]), (&0.into(), &false.into()), "{run:#}");
    let said = scene.logs(&run);
    assert!(said.contains("42") && said.contains("43"), "{said}");
}

#[test]
fn a_full_disk_takes_nothing_away_from_what_a_command_said() {
    whole_answer_of_a_command("size=12m", BYTES);
}

#[test]
fn a_disk_without_inodes_takes_nothing_away_from_what_a_command_said() {
    whole_answer_of_a_command("size=64m,nr_inodes=400", INODES);
}

#[test]
fn a_full_disk_takes_nothing_away_from_what_an_agent_said() {
    let body = |beside: &Path| {
        let prompt = speaking(beside, "echo VERDICT: REJECT");
        format!(
            "const said = await ctx.run(\"review\", async () => await ctx.runCli(\"review\", agent(\"shell\"), {prompt:?}));\n\
             return {{ text: said.text, reason: said.exitReason, transcript: said.sessionFilePath }};"
        )
    };
    let config = "[agents.shell]\ncommand = [\"sh\", \"-c\", \"{prompt}\"]\n";
    let mut scene = Scene::new("size=12m", body, config);
    let run = scene.finished(BYTES);
    let output = &run["output"];
    assert_eq!(output["text"], "VERDICT: REJECT", "{run:#}");
    assert_eq!(output["reason"], "completed", "{run:#}");
    assert!(scene.logs(&run).contains("VERDICT: REJECT"));
    let transcript = run["agent_sessions"][0]["session_file_path"].as_str().expect("a path");
    let kept = scene.disk.shell(&scene.stand, &format!("cat repo/{transcript}"));
    assert!(kept.contains("VERDICT: REJECT"), "{kept}");
}

/// The run can go on, because its database is elsewhere; what people read of it waits.
#[test]
fn a_full_disk_takes_nothing_away_from_the_logs() {
    let body = |beside: &Path| {
        let command = speaking(beside, "echo 42; echo 43 >&2");
        let gate = format!("until [ -e {}/go ]; do sleep 0.02; done", beside.display());
        format!(
            "const noted = async () => {{ await ctx.shell({gate:?}); ctx.log.info(\"noted\"); }};\n\
             const [said] = await Promise.all([ctx.shell({command:?}), noted()]);\n\
             return said.stdout;"
        )
    };
    let mut scene = Scene::new("size=12m", body, "");
    scene.database = Some(scene.beside.join("runs.db"));
    let run = scene.finished(BYTES);
    assert_eq!(run["output"], "42\n", "{run:#}");
    let said = scene.logs(&run);
    for line in ["42", "43", "noted"] {
        assert!(said.contains(line), "{line}: {said}");
    }
}

/// The database has room where there is none for another file.
#[test]
fn a_command_that_finds_no_room_to_begin_waits_until_there_is() {
    let body = |beside: &Path| {
        let command = format!("echo x >> {}/count; echo 42", beside.display());
        format!(
            "while (!(await ctx.files.exists(\"go\"))) await ctx.sleep(50);\n\
             return (await ctx.shell({command:?})).stdout;"
        )
    };
    let mut scene = Scene::new("size=64m,nr_inodes=400", body, "");
    scene.disk.shell(&scene.stand, "touch repo/later");
    let process = scene.agentos(&["run", "work", "--json"]);
    let mut listed = Value::Null;
    let waits_for = |listed: &Value, kind: &str| listed["items"][0]["waiting"]["kind"] == kind;
    wait_until("it waits for the file", || {
        listed = scene.agentos(&["status", "--json"]).done().document();
        waits_for(&listed, "timer")
    });
    scene.disk.shell(&scene.stand, INODES);
    scene.disk.shell(&scene.stand, "mv repo/later repo/go");
    wait_until("it waits for room", || {
        listed = scene.agentos(&["status", "--json"]).done().document();
        waits_for(&listed, "disk")
    });
    scene.disk.shell(&scene.stand, "rm -r rest");
    let run = process.done().exits(0).document();
    assert_eq!(run["output"], "42\n", "{run:#}");
    assert_eq!(lines(&scene.beside.join("count")).len(), 1, "it was done once");
}

/// A limit on the size of files (`ulimit -f`) ends neither AgentOS nor its supervisors, and takes nothing away either.
#[test]
fn files_that_must_not_grow_take_nothing_away_from_what_a_command_said() {
    let (stand, root) = Stand::with_repository();
    let folder = root.join(".agent/workflows/templates");
    fs::create_dir_all(&folder).expect("a folder");
    let command = "echo x >> count; i=0; while [ $i -lt 1000 ]; do                    printf '%06d%2994d\\n' $i 0; i=$((i+1)); done; echo end";
    let text = format!(
        "import {{ createWorkflow }} from \"agentos\";\n\
         export default createWorkflow({{ name: \"work\" }}, async (ctx) => (await ctx.shell({command:?})).stdout);\n"
    );
    fs::write(folder.join("work.ts"), text).expect("a template");
    // Two megabytes: there is room for the database, and not for three megabytes of output in one file.
    let line = format!("ulimit -f 2048; exec {} run work --json", env!("CARGO_BIN_EXE_agentos"));
    let call = stand.call_program(Path::new("/bin/bash"), &root, &["-c", &line]);
    let run = call.done().exits(0).document();
    let output = run["output"].as_str().expect("text");
    assert!(output.starts_with("000000 ") && output.ends_with("0\nend\n"), "{run:#}");
    assert_eq!(lines(&root.join("count")).len(), 1, "it was done once");
    // Its log has every line up to one that says that the rest is missing.
    let id = run["id"].as_str().expect("an id");
    let logs = root.join(".agent/workflows/executions").join(id).join("logs");
    for log in fs::read_dir(logs).expect("a folder") {
        let log = lines(&log.expect("an entry").path());
        let log: Vec<Value> =
            log.iter().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
        let (last, whole) = log.split_last().expect("a line");
        let text: String = whole
            .iter()
            .map(|line| {
                let end = if line["goes_on"] == true { "" } else { "\n" };
                line["msg"].as_str().expect("text").to_owned() + end
            })
            .collect();
        let numbers = text.split_terminator('\n').map(|line| line[..6].parse::<usize>());
        assert!(numbers.enumerate().all(|(at, number)| number == Ok(at)), "there is a gap");
        assert!(text.len() > 1_500_000, "{} bytes", text.len());
        let said = last["msg"].as_str().expect("text");
        assert!(said.contains("the rest is not in this log") && said.contains("2097152"), "{said}");
    }
}

/// The database itself has no room: the run is left alone with the reason, and goes on where files may grow.
#[test]
fn a_run_whose_database_must_not_grow_is_left_with_the_reason_and_goes_on_later() {
    let (stand, root) = Stand::with_repository();
    let folder = root.join(".agent/workflows/templates");
    fs::create_dir_all(&folder).expect("a folder");
    let text = "import { createWorkflow } from \"agentos\";\n\
         export default createWorkflow({ name: \"work\" }, async (ctx) => {\n\
           for (let i = 0; i < 12; i++)\n\
             await ctx.shell(`echo ${i} >> count; head -c 200000 /dev/zero | tr '\\\\0' x`);\n\
           return \"done\";\n\
         });\n";
    fs::write(folder.join("work.ts"), text).expect("a template");
    let program = env!("CARGO_BIN_EXE_agentos");
    let line = format!("ulimit -f 1100; exec {program} run work --json");
    let left = stand.call_program(Path::new("/bin/bash"), &root, &["-c", &line]).done().exits(1);
    for words in ["-wal has reached 1126400 bytes", "`ulimit -f`", "ulimit -f unlimited"] {
        assert!(left.err.contains(words), "{words}: {}", left.err);
    }
    assert!(!left.err.contains("is not known"), "{}", left.err);
    let call = |words: &[&str]| stand.call_program(Path::new(program), &root, words).done();
    let listed = call(&["status", "--json"]).exits(0).document();
    let name = listed["items"][0]["run_id"].as_str().expect("a name").to_owned();
    let run = call(&["resume", &name, "--json"]).exits(0).document();
    assert_eq!(run["output"], "done", "{run:#}");
    let done: Vec<String> = (0..12).map(|number: u32| number.to_string()).collect();
    assert_eq!(lines(&root.join("count")), done, "each was done once");
}

/// Not even a new database has room, or only its index has none.
#[test]
fn a_database_that_can_not_be_made_where_files_must_not_grow_says_so() {
    let (stand, root) = Stand::with_repository();
    let text = "import { createWorkflow } from \"agentos\";\n\
         export default createWorkflow({ name: \"work\" }, async () => \"done\");\n";
    template(&root, "work", text);
    let program = env!("CARGO_BIN_EXE_agentos");
    for (blocks, bytes) in [(100, 102_400), (10, 10_240)] {
        let line = format!("ulimit -f {blocks}; exec {program} run work");
        let call = stand.call_program(Path::new("/bin/bash"), &root, &["-c", &line]);
        let refused = call.done().exits(1);
        let limit = format!("a file may not be larger than {bytes} bytes here (`ulimit -f`)");
        for words in ["issue_workflow.db can't be opened", &limit, "ulimit -f unlimited"] {
            assert!(refused.err.contains(words), "{words}: {}", refused.err);
        }
    }
}
