//! Many changed files.

use agentos_workspace::version_control::{DiffRequest, StatusRequest, VersionControl as _};

use super::{Ground, everything};

const MANY: usize = 20_000;

#[test]
fn twenty_thousand_changed_files_are_counted_staged_and_committed() {
    let ground = Ground::new();
    for index in 0..MANY {
        let folder = ground.root.join(format!("folder-{:03}", index / 200));
        if index % 200 == 0 {
            std::fs::create_dir(&folder).unwrap();
        }
        std::fs::write(folder.join(format!("a file {index}.txt")), "1\n").unwrap();
    }
    let repository = ground.repository();
    let status = ground.status();
    assert_eq!((status.total, status.untracked, status.truncated), (MANY, MANY, true));
    assert_eq!(status.entries.len(), 1_000);
    let most = repository.status(&StatusRequest { limit: Some(usize::MAX) }).unwrap();
    assert_eq!(most.entries.len(), 10_000);
    let size = serde_json::to_vec(&most).unwrap().len();
    assert!(size < 4 << 20, "an answer has to fit into the log: {size}");
    let stat = DiffRequest { stat: true, ..DiffRequest::default() };
    let diff = repository.diff(&stat).unwrap();
    assert_eq!((diff.files_changed, diff.insertions), (MANY, MANY as u64));
    assert!(ground.commit(everything("many")).unwrap().created);
    assert!(ground.status().clean);
}
