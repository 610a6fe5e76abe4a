//! Lines are kept once and whole, whatever happens to the files.

use super::*;

fn lines_of(path: &std::path::Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn line(ordinal: u64, step: u32) -> Line {
    let step = StepName {
        id: Uuid::from_u128(step.into()),
        number: step,
        name: "Write Plan!".into(),
        earlier: None,
    };
    Line {
        ordinal: Some(ordinal),
        at: Timestamp(0),
        level: LogLevel::Info,
        step: (!ordinal.is_multiple_of(3)).then_some(step),
        stream: Stream::Log,
        message: format!("line {ordinal}\n𝄞"),
        piece: None,
    }
}

fn all_lines() -> Vec<Line> {
    (1..=12).map(|ordinal| line(ordinal, if ordinal < 7 { 1 } else { 2 })).collect()
}

#[test]
fn a_crash_at_any_byte_loses_and_repeats_no_line() {
    let project = tempfile::tempdir().unwrap();
    let folder = RunFolder::new(project.path(), RunId(Uuid::from_u128(1)));
    folder.open_logs().unwrap().append(&all_lines()).unwrap();
    let run = project.path().join(folder.log_file());
    let step = project.path().join(folder.step_log_file(1, "Write Plan!"));
    assert!(step.ends_with("step-1-write-plan.log"), "{step:?}");
    let (whole, whole_step) = (lines_of(&run), lines_of(&step));
    assert_eq!((whole.len(), whole_step.len()), (12, 4));
    let bytes = std::fs::read(&run).unwrap();
    let step_bytes = std::fs::read(&step).unwrap();
    for cut in 0..bytes.len() {
        std::fs::write(&run, &bytes[..cut]).unwrap();
        // The step's file is never behind the run's.
        let seen = bytes[..cut].iter().filter(|byte| **byte == b'\n').count();
        if seen < 6 {
            let lines = whole[..seen].iter().filter(|line| whole_step.contains(line)).count();
            let kept = step_bytes.split_inclusive(|byte| *byte == b'\n').take(lines).flatten();
            let torn = step_bytes.len().min(kept.clone().count() + cut % 40);
            std::fs::write(&step, &step_bytes[..torn]).unwrap();
        }
        let mut logs = folder.open_logs().unwrap();
        let last = logs.last_ordinal();
        let missing: Vec<Line> =
            all_lines().into_iter().filter(|line| line.ordinal > Some(last)).collect();
        logs.append(&missing).unwrap();
        assert_eq!(lines_of(&run), whole, "cut at {cut}");
        assert_eq!(lines_of(&step), whole_step, "cut at {cut}");
    }
}

#[test]
fn the_last_number_is_found_behind_a_flood_of_output() {
    let project = tempfile::tempdir().unwrap();
    let folder = RunFolder::new(project.path(), RunId(Uuid::from_u128(1)));
    let mut logs = folder.open_logs().unwrap();
    let output =
        Line { ordinal: None, stream: Stream::Stdout, message: "x".repeat(10_000), ..line(1, 1) };
    logs.append(&[line(1, 1)]).unwrap();
    logs.append(&vec![output; 50]).unwrap();
    assert_eq!(folder.open_logs().unwrap().last_ordinal(), 1);
}

#[test]
fn a_run_of_many_steps_has_few_files_open_and_loses_no_line() {
    let project = tempfile::tempdir().unwrap();
    let folder = RunFolder::new(project.path(), RunId(Uuid::from_u128(1)));
    let mut logs = folder.open_logs().unwrap();
    for round in 0..3 {
        for step in 1..=50 {
            logs.append(&[Line { step: line(1, step).step, ..output(&round.to_string()) }])
                .unwrap();
            assert!(logs.steps.len() <= OPEN_FILES + 1, "{}", logs.steps.len());
        }
    }
    assert_eq!(lines_of(&project.path().join(folder.step_log_file(7, "Write Plan!"))).len(), 3);
    assert_eq!(lines_of(&project.path().join(folder.log_file())).len(), 150);
}

#[test]
fn output_is_gone_on_with_behind_what_is_kept() {
    let project = tempfile::tempdir().unwrap();
    let folder = RunFolder::new(project.path(), RunId(Uuid::from_u128(1)));
    let step = StepName::of(RunId(Uuid::from_u128(1)), StepNumber(1), "/shell:build#1");
    assert_eq!(step.name, "build");
    let piece = |command: &str, end| Line {
        step: Some(step.clone()),
        piece: Some(Piece { command: command.into(), end, goes_on: false }),
        ..output("text")
    };
    let mut logs = folder.open_logs().unwrap();
    assert_eq!(logs.kept_output(&step, "a").unwrap(), 0);
    logs.append(&[piece("a", 5), piece("b", 7), piece("a", 11)]).unwrap();
    let logs = folder.open_logs().unwrap();
    assert_eq!(logs.kept_output(&step, "a").unwrap(), 11);
    assert_eq!(logs.kept_output(&step, "b").unwrap(), 7);
    assert_eq!(logs.kept_output(&step, "c").unwrap(), 0);
}

#[test]
fn a_file_that_may_not_grow_is_whole_up_to_a_line_that_says_so() {
    let project = tempfile::tempdir().unwrap();
    let folder = RunFolder::new(project.path(), RunId(Uuid::from_u128(1)));
    let mut logs = folder.open_logs().unwrap();
    let lines: Vec<Line> = (1..=40).map(|n| Line { ordinal: Some(n), ..line(1, 1) }).collect();
    logs.append(&lines[..1]).unwrap();
    let one = logs.run.file.metadata().unwrap().len();
    logs.run.limit = Some(10 * one + LAST_LINE_BYTES);
    for lines in lines[1..].chunks(7) {
        logs.append(lines).unwrap();
    }
    let (run, step) = (folder.log_file(), folder.step_log_file(1, "Write Plan!"));
    let [run, step] = [run, step].map(|file| lines_of(&project.path().join(file)));
    assert_eq!(step.len(), 40, "the step's file may grow");
    let (last, whole) = run.split_last().unwrap();
    assert_eq!(whole, &step[..whole.len()]);
    assert!((8..=10).contains(&whole.len()), "{}", whole.len());
    assert!(last.contains("the rest is not in this log") && last.contains("ulimit -f"), "{last}");
    // Another process, which may write more, goes on behind the last line that is there.
    let mut logs = folder.open_logs().unwrap();
    assert_eq!(logs.last_ordinal(), whole.len() as u64);
    logs.append(&lines[whole.len()..]).unwrap();
    let run = lines_of(&project.path().join(folder.log_file()));
    let missing: Vec<&String> = step.iter().filter(|line| !run.contains(line)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

fn output(text: &str) -> Line {
    Line { ordinal: None, stream: Stream::Stdout, message: text.into(), ..line(1, 1) }
}

/// Output without a number, as long as one likes. Counts what is read of it.
struct Flood(std::cell::Cell<usize>);

impl FileExt for Flood {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.set(self.0.get() + buffer.len());
        for (at, byte) in (offset..).zip(buffer.iter_mut()) {
            *byte = if at % 100 == 99 { b'\n' } else { b'}' };
        }
        Ok(buffer.len())
    }

    fn write_at(&self, _buffer: &[u8], _offset: u64) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[test]
fn opening_a_log_reads_every_byte_of_its_output_once() {
    let flood = Flood(std::cell::Cell::new(0));
    let length = 4 * 1024 * 1024 + 17;
    let (whole, last) = whole_lines(&flood, length).unwrap();
    assert_eq!((whole, last), (length - length % 100, 0));
    let once = usize::try_from(length).unwrap();
    assert!((once..once + once / 100).contains(&flood.0.get()), "{:?}", flood.0);
}

#[test]
fn a_number_is_found_wherever_it_lies_in_its_block() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.log");
    let block = usize::try_from(BLOCK).unwrap();
    for behind in (block - 60..block + 10).chain(2 * block - 40..2 * block + 5) {
        let flood = format!("{}\n", "x".repeat(behind));
        let text = format!("{{\"n\":1}}\n{{\"msg\":\"\",\"n\":{}}}\n{flood}torn", u64::MAX);
        std::fs::write(&path, &text).unwrap();
        let file = OpenOptions::new().read(true).append(true).open(&path).unwrap();
        assert_eq!(mend(&file).unwrap(), u64::MAX, "{behind}");
        assert_eq!(file.metadata().unwrap().len() as usize, text.len() - "torn".len());
    }
}

#[test]
fn what_a_message_says_is_no_number() {
    let project = tempfile::tempdir().unwrap();
    let folder = RunFolder::new(project.path(), RunId(Uuid::from_u128(1)));
    let mut logs = folder.open_logs().unwrap();
    logs.append(&[line(7, 1), output(",\"n\":9}"), output("\",\"n\":9}\n")]).unwrap();
    assert_eq!(folder.open_logs().unwrap().last_ordinal(), 7);
}

#[test]
fn lines_given_again_after_a_failure_are_written_once() {
    let lines: Vec<Line> = (1..=4).flat_map(|n| [line(n * 1_000 + 1, 1), output("said")]).collect();
    let text = |room: Option<(bool, usize)>| {
        let project = tempfile::tempdir().unwrap();
        let folder = RunFolder::new(project.path(), RunId(Uuid::from_u128(1)));
        let mut logs = folder.open_logs().unwrap();
        logs.append(&lines[..2]).unwrap();
        if let Some((of_run, room)) = room {
            let file = if of_run { &mut logs.run } else { logs.steps.get_mut(&1).unwrap() };
            file.room = Some(room);
            assert!(logs.append(&lines[2..]).is_err());
            assert_eq!(logs.last_ordinal(), 1_001);
        }
        logs.append(&lines[2..]).unwrap();
        assert_eq!(logs.last_ordinal(), 4_001);
        let files = [folder.log_file(), folder.step_log_file(1, "Write Plan!")];
        files.map(|file| lines_of(&project.path().join(file)))
    };
    let expected = text(None);
    for room in (0..700).step_by(23) {
        for of_run in [true, false] {
            assert_eq!(text(Some((of_run, room))), expected, "{room} bytes, the run's: {of_run}");
        }
    }
}

#[test]
fn a_line_that_could_not_be_cut_off_is_cut_off_later() {
    let project = tempfile::tempdir().unwrap();
    let folder = RunFolder::new(project.path(), RunId(Uuid::from_u128(1)));
    let mut logs = folder.open_logs().unwrap();
    logs.append(&[output("whole")]).unwrap();
    let length = logs.run.file.metadata().unwrap().len();
    logs.run.file.write_all(b"{\"at\":\"to").unwrap();
    logs.run.torn_at = Some(length);
    logs.append(&[output("whole")]).unwrap();
    let lines = lines_of(&project.path().join(folder.log_file()));
    assert_eq!((lines.len(), &lines[0]), (2, &lines[1]));
}

/// An earlier version named the files of operations outside of a step by the hash in their path.
#[test]
fn what_an_earlier_version_has_begun_is_gone_on_with_in_its_file() {
    let project = tempfile::tempdir().unwrap();
    let folder = RunFolder::new(project.path(), RunId(Uuid::from_u128(1)));
    let path = "/shell:1adaa10ed22b15f2#1";
    let before = StepName::of(RunId(Uuid::from_u128(1)), StepNumber(1), path);
    let now = before.clone().titled("shell: echo one".into());
    let piece = |step: &StepName, end| Line {
        step: Some(step.clone()),
        piece: Some(Piece { command: "a@1".into(), end, goes_on: false }),
        ..output("text")
    };
    let file = |name: &str| project.path().join(folder.step_log_file(1, name));
    folder.open_logs().unwrap().append(&[piece(&before, 5)]).unwrap();
    let mut logs = folder.open_logs().unwrap();
    assert_eq!(logs.kept_output(&now, "a@1").unwrap(), 5);
    logs.append(&[piece(&now, 9)]).unwrap();
    assert_eq!(lines_of(&file("1adaa10ed22b15f2")).len(), 2);
    assert!(!file("shell: echo one").exists());
    let other = StepName { number: 2, ..now };
    logs.append(&[piece(&other, 5)]).unwrap();
    let named = project.path().join(folder.step_log_file(2, "shell: echo one"));
    assert!(named.ends_with("step-2-shell-echo-one.log") && named.exists(), "{named:?}");
}
