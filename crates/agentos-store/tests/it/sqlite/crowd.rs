pub(crate) fn take_part(_arguments: &[&str]) {}
