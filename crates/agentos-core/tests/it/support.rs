//! What several topics need: facts in short words, logs, and programs made of scenes.

pub(crate) mod bench;
pub(crate) mod fact;
pub(crate) mod log;
pub(crate) mod play;

/// Names every variant of an enum, so that a test can ask whether each of them was seen.
///
/// The match has no arm for the rest: whoever adds a variant is led here, and then to the test that misses it.
macro_rules! variants {
    ($what:ident: $($name:ident),+ $(,)?) => {
        fn variant(of: &$what) -> &'static str {
            match of {
                $($what::$name { .. } => stringify!($name),)+
            }
        }

        const VARIANTS: &[&str] = &[$(stringify!($name)),+];
    };
}
pub(crate) use variants;
