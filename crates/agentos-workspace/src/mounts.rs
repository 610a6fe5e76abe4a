//! What is mounted below a folder: it lies there and is somebody else's, also where it is on the same file system.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

/// Where this process sees what is mounted.
const TABLE: &str = "/proc/self/mountinfo";

/// What is mounted at a folder or below it. What can't be known is left to whoever deletes, who crosses no mount.
pub(crate) fn below(folder: &Path) -> Vec<PathBuf> {
    let Ok(folder) = folder.canonicalize() else { return Vec::new() };
    let table = fs::read(TABLE).unwrap_or_default();
    points(&table).filter(|point| point.starts_with(&folder)).collect()
}

/// The places in such a table: the fifth word of every line.
fn points(table: &[u8]) -> impl Iterator<Item = PathBuf> {
    let lines = table.split(|byte| *byte == b'\n');
    lines.filter_map(|line| line.split(|byte| *byte == b' ').nth(4)).map(plain)
}

/// A word of the table without its `\040`.
fn plain(word: &[u8]) -> PathBuf {
    let (mut plain, mut rest) = (Vec::with_capacity(word.len()), word);
    while let [first, behind @ ..] = rest {
        let number = behind.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let number = number.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match number.filter(|_| *first == b'\\') {
            Some(byte) => {
                plain.push(byte);
                rest = &behind[3..];
            }
            None => {
                plain.push(*first);
                rest = behind;
            }
        }
    }
    PathBuf::from(OsString::from_vec(plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read_with_its_odd_names() {
        let table = b"36 35 98:0 / /mnt rw,noatime - ext4 /dev/root rw\n\
                      37 35 98:0 /x /a\\040b\\134c rw - ext4 /dev/root rw\nshort\n";
        let found: Vec<PathBuf> = points(table).collect();
        assert_eq!(found, [PathBuf::from("/mnt"), PathBuf::from("/a b\\c")]);
        assert_eq!(below(Path::new("/no/such/folder")), Vec::<PathBuf>::new());
        assert!(below(Path::new("/")).contains(&PathBuf::from("/proc")));
    }
}
