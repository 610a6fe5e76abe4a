//! Verdicts.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use agentos_workspace::workspace::removal::CleanError;
use agentos_workspace::workspace::verdict::{Kept, Weight, What};

use super::mess;
use super::state::{clean, finding, look, write};
use crate::place::Place;

pub(crate) fn a_new_workspace_has_nothing_to_lose(place: &Place) {
    let (made, _) = place.open("fix-1");
    let verdict = look(place, &made);
    assert_eq!(verdict.findings, [], "{verdict}");
    assert!(verdict.is_free() && !verdict.needs_backup());
    assert!(verdict.integrated.is_some());
}

pub(crate) fn what_would_be_lost_is_named_and_refused(place: &Place) {
    let (made, _) = place.open("fix-1");
    mess::ignored(&made);
    write(&made.path, "node_modules/x/index.js", "12345");
    write(&made.path, "README.md", "# Changed\n");
    let verdict = look(place, &made);
    let ignored = finding(&verdict, What::Ignored).unwrap();
    assert_eq!((ignored.count, ignored.kept), (4, Kept::Archive), "{verdict}");
    let left = finding(&verdict, What::Reproducible).unwrap();
    assert_eq!((left.bytes, left.kept, left.weight), (Some(5), Kept::Nowhere, Weight::Free));
    let changed = finding(&verdict, What::Unstaged).unwrap();
    assert!(changed.examples.contains(&"README.md".to_owned()), "{verdict}");
    let before = place.traces();
    let Err(CleanError::Refused(refused)) = clean(place, "fix-1", false) else {
        panic!("it should be refused")
    };
    assert_eq!(*refused, verdict);
    assert_eq!(place.traces(), before);
    let told = verdict.to_string();
    assert!(told.contains("fix-1") && told.contains(".env") && told.contains("kept in"), "{told}");
}

/// Ends the other thread when it is dropped.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A process writes a file under another name first, and renames it, all the time.
pub(crate) fn files_that_vanish_meanwhile_are_no_reason_to_give_up(place: &Place) {
    let (made, _) = place.open("fix-1");
    write(&made.path, "notes.txt", "mine");
    // They are looked at between the listing of the folder and the look at the file that vanishes.
    (0..1_000).for_each(|number| write(&made.path, &format!("a-{number}"), ""));
    let is_over = AtomicBool::new(false);
    let verdicts = thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0_u64.. {
                let unfinished = made.path.join(format!("notes-{number}.new"));
                fs::write(&unfinished, "mine").unwrap();
                fs::rename(&unfinished, made.path.join("notes.txt")).unwrap();
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        // Also if a look panics: the other thread is waited for.
        let _end = End(&is_over);
        (0..20).map(|_| look(place, &made)).collect::<Vec<_>>()
    });
    assert!(verdicts.iter().all(|verdict| finding(verdict, What::Untracked).is_some()));
}

pub(crate) fn commits_stay_on_their_branch(place: &Place) {
    let (made, _) = place.open("fix-1");
    place.commit_in(&made, "work.txt");
    let verdict = look(place, &made);
    assert_eq!(finding(&verdict, What::Unpushed).unwrap().count, 1, "{verdict}");
    assert!(verdict.is_free() && verdict.integrated.is_none(), "{verdict}");
    let cleaned = clean(place, "fix-1", false).unwrap();
    assert_eq!((cleaned.branch.as_deref(), cleaned.backup), (Some("agentos/fix-1"), None));
    assert!(!made.path.exists());
    assert_eq!(place.git(&place.repo, &["show", "agentos/fix-1:work.txt"]), "work.txt");
    // Whoever goes on finds it.
    let (again, _) = place.open("fix-1");
    assert!(again.path.join("work.txt").exists());
}
