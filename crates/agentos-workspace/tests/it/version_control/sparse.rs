//! A worktree with only a part of the files.

use agentos_workspace::version_control::{DiffRequest, VersionControl as _};

use super::{Ground, everything};

#[test]
fn new_files_outside_of_the_part_that_is_checked_out_are_compared_and_committed() {
    let ground = Ground::new();
    ground.write("inside/a", "1\n");
    ground.write("outside/b", "1\n");
    ground.git(&["add", "."]);
    ground.git(&["commit", "--quiet", "--message=both"]);
    ground.git(&["sparse-checkout", "set", "inside"]);
    assert!(!ground.root.join("outside").exists());
    ground.write("new/c", "1\n");
    let diff = ground.repository().diff(&DiffRequest::default()).unwrap();
    assert_eq!((diff.files_changed, diff.files[0].path.as_str()), (1, "new/c"));
    assert!(ground.commit(everything("c")).unwrap().created);
    let names = ground.git(&["ls-tree", "-r", "--name-only", "HEAD"]);
    assert_eq!(names, "README.md\ninside/a\nnew/c\noutside/b\n", "nothing is lost");
}
