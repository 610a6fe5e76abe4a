//! Deleting a folder with everything in it, and nothing of what only seems to be in it: links are not followed, and no
//! mount is crossed. A folder may be mounted while others are deleted, so the kernel is asked at each.

use std::ffi::{CStr, CString};
use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// Deletes whatever is at a path. What is gone already is no mistake.
pub(crate) fn all(path: &Path) -> io::Result<()> {
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    match File::open(above) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        above => all_at(above?, &CString::new(name.as_bytes())?),
    }
}

/// Deletes whatever has this name in a folder.
pub(crate) fn all_at(above: impl AsFd, name: &CStr) -> io::Result<()> {
    let above = above.as_fd();
    match gone(rustix::fs::unlinkat(above, name, AtFlags::empty())) {
        // It is a folder.
        Err(Errno::ISDIR) => {}
        unlinked => return Ok(unlinked?),
    }
    let folder = match opened(above, name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        folder => folder?,
    };
    let names = names_in(&folder)?;
    if !names.is_empty() {
        // One that may not be written to holds on to what is in it; whether that helps is seen at once.
        let _not_ours = rustix::fs::fchmod(&folder, Mode::RWXU);
    }
    for name in names {
        all_at(&folder, &name)?;
    }
    Ok(gone(rustix::fs::unlinkat(above, name, AtFlags::REMOVEDIR))?)
}

/// Many may delete the same at once.
fn gone(deleted: Result<(), Errno>) -> Result<(), Errno> {
    deleted.or_else(|error| if error == Errno::NOENT { Ok(()) } else { Err(error) })
}

fn names_in(folder: &OwnedFd) -> io::Result<Vec<CString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let name = entry?.file_name().to_owned();
        if ![c".", c".."].contains(&name.as_c_str()) {
            names.push(name);
        }
    }
    Ok(names)
}

/// A folder in another one, on the same mount.
fn opened(above: BorrowedFd<'_>, name: &CStr) -> io::Result<OwnedFd> {
    let opened = match open(above, name, OFlags::RDONLY) {
        Err(Errno::ACCESS) => {
            let closed = open(above, name, OFlags::PATH)?;
            let itself = format!("/proc/self/fd/{}", closed.as_raw_fd());
            fs::set_permissions(itself, Permissions::from_mode(0o700))?;
            open(above, name, OFlags::RDONLY)
        }
        opened => opened,
    };
    opened.map_err(|error| match error {
        Errno::XDEV => io::Error::new(
            io::ErrorKind::CrossesDevices,
            format!("{} is a mount, and what is mounted is not ours", name.to_string_lossy()),
        ),
        error => error.into(),
    })
}

fn open(above: BorrowedFd<'_>, name: &CStr, how: OFlags) -> Result<OwnedFd, Errno> {
    let how = how | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::openat2(above, name, how, Mode::empty(), ResolveFlags::NO_XDEV) {
        // An old kernel, or a container that does not know the question.
        Err(Errno::NOSYS | Errno::PERM) => open_and_compare(above, name, how),
        opened => opened,
    }
}

/// The same for who can't ask the kernel for it: what it says of the two afterwards.
fn open_and_compare(above: BorrowedFd<'_>, name: &CStr, how: OFlags) -> Result<OwnedFd, Errno> {
    let opened = rustix::fs::openat(above, name, how, Mode::empty())?;
    let (outer, inner) = (mount_of(above), mount_of(opened.as_fd()));
    if outer.is_some() && outer == inner { Ok(opened) } else { Err(Errno::XDEV) }
}

/// The number of the mount that a folder is on.
fn mount_of(folder: BorrowedFd<'_>) -> Option<u64> {
    let about = fs::read_to_string(format!("/proc/self/fdinfo/{}", folder.as_raw_fd())).ok()?;
    about.lines().find_map(|line| line.strip_prefix("mnt_id:")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_goes_and_what_a_link_leads_to_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (mine, gone) = (folder.path().join("mine"), folder.path().join("gone"));
        fs::create_dir_all(gone.join("deep/closed")).unwrap();
        fs::create_dir(&mine).unwrap();
        fs::write(mine.join("file"), "mine").unwrap();
        fs::write(gone.join("deep/closed/file"), "x").unwrap();
        std::os::unix::fs::symlink(&mine, gone.join("deep/link")).unwrap();
        for closed in ["deep/closed", "deep"] {
            fs::set_permissions(gone.join(closed), Permissions::from_mode(0o500)).unwrap();
        }
        all(&gone).unwrap();
        all(&gone).unwrap();
        all(&folder.path().join("never/was")).unwrap();
        assert!(!gone.exists() && mine.join("file").exists());
    }

    #[test]
    fn an_old_kernel_says_what_is_a_mount_too() {
        let how = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let root = File::open("/").unwrap();
        let crossed = open_and_compare(root.as_fd(), c"proc", how);
        assert_eq!(crossed.unwrap_err(), Errno::XDEV);
        assert_eq!(open(root.as_fd(), c"proc", OFlags::RDONLY).unwrap_err(), Errno::XDEV);
        let own = tempfile::tempdir().unwrap();
        fs::create_dir(own.path().join("in")).unwrap();
        let above = File::open(own.path()).unwrap();
        open_and_compare(above.as_fd(), c"in", how).unwrap();
    }
}
