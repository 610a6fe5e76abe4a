//! Streams gone wrong: cut off, shuffled, with events that nobody knows, with lines of any length. Nothing panics, memory
//! stays bounded, and nothing is taken for a success that was none.

use agentos_agent::bounds::LINE_BYTES;
use agentos_agent::usage::Baseline;
use agentos_agent::verdict::TroubleKind;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::part::{Recorded, exited, member, recorded, told};

/// The line by which a stream says that all went well.
fn is_last_word(stream: &Recorded, line: &str) -> bool {
    match stream.agent.as_str() {
        "codex" => line.contains("\"turn.completed\""),
        _ => line.contains("\"type\":\"result\""),
    }
}

#[test]
fn a_stream_that_is_cut_off_anywhere_is_no_success() {
    for stream in recorded() {
        let bytes = stream.text.trim_end().as_bytes();
        let end = bytes.len();
        // Every line's end, and a choice of places inside of lines.
        let cuts = (0..end).filter(|at| bytes[*at] == b'\n' || at % 97 == 0 || at + 3 > end);
        for cut in cuts {
            let (_, verdict) = told(stream.translator().as_mut(), &bytes[..cut], &exited(0));
            let has_last_word = std::str::from_utf8(&bytes[..cut]).is_ok_and(|text| {
                text.lines().any(|line| {
                    is_last_word(&stream, line)
                        && serde_json::from_str::<serde_json::Value>(line).is_ok()
                })
            });
            assert!(has_last_word || !verdict.is_success(), "{} cut at {cut}", stream.name);
        }
    }
}

/// A line that is too long to be read, in a stream at this place.
fn with_long_line(lines: &[String], at: usize) -> String {
    let long = format!("{{\"type\":\"novelty\",\"x\":\"{}\"}}", "y".repeat(10 << 20));
    assert!(long.len() > LINE_BYTES);
    let mut lines = lines.to_vec();
    lines.insert(at, long);
    lines.join("\n")
}

#[test]
fn a_line_of_ten_megabytes_before_the_answer_does_no_harm_and_one_behind_it_may_have_been_the_answer()
 {
    for stream in recorded().into_iter().filter(|stream| stream.name.ends_with("e2e-ok")) {
        let lines = stream.lines();
        for (at, is_success) in [(1, true), (lines.len(), false)] {
            let text = with_long_line(&lines, at);
            let (_, verdict) = told(stream.translator().as_mut(), text.as_bytes(), &exited(0));
            assert_eq!(verdict.is_success(), is_success, "{} at {at}", stream.name);
            assert_eq!(verdict.is_truncated(), !is_success, "{} at {at}", stream.name);
            if let Some(trouble) = verdict.trouble {
                assert_eq!(trouble.kind, TroubleKind::Malformed, "{}", trouble.message);
                assert!(
                    trouble.message.contains("longer than 8388608 bytes"),
                    "{}",
                    trouble.message
                );
            }
        }
    }
}

#[test]
fn an_earlier_answer_is_not_taken_for_the_one_that_could_not_be_read() {
    let streams: [(&str, &[&str]); 2] = [
        (
            "codex",
            &[
                r#"{"type":"item.completed","item":{"type":"agent_message","text":"APPROVE so far"}}"#,
                r#"{"type":"turn.completed","usage":{}}"#,
            ],
        ),
        (
            "gemini",
            &[
                r#"{"type":"message","role":"assistant","content":"APPROVE","delta":true}"#,
                r#"{"type":"message","role":"assistant","content":" so far","delta":true}"#,
                r#"{"type":"result","status":"success","stats":{}}"#,
            ],
        ),
    ];
    for (agent, lines) in streams {
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        let told = |text: &str| {
            let mut translator = member(agent).agent.translator(Baseline::default());
            told(translator.as_mut(), text.as_bytes(), &exited(0)).1
        };
        assert!(told(&lines.join("\n")).is_success());
        // Between two pieces as well as behind the last one.
        for at in 1..lines.len() {
            let verdict = told(&with_long_line(&lines, at));
            assert!(!verdict.is_success() && verdict.is_truncated(), "{agent} at {at}");
        }
    }
}

#[test]
fn a_last_word_that_is_too_long_to_be_read_is_none() {
    for stream in recorded().into_iter().filter(|stream| stream.name.ends_with("e2e-ok")) {
        let padded: Vec<String> = stream
            .lines()
            .into_iter()
            .map(|line| match is_last_word(&stream, &line) {
                true => line.replacen('{', &format!("{{\"x\":\"{}\",", "y".repeat(10 << 20)), 1),
                false => line,
            })
            .collect();
        let (_, verdict) =
            told(stream.translator().as_mut(), padded.join("\n").as_bytes(), &exited(0));
        assert!(!verdict.is_success(), "{}", stream.name);
    }
}

fn noise() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(r#"{"type":"system","subtype":"novelty","x":[1,2,{"y":null}]}"#.to_owned()),
        Just(r#"{"type":"item.completed","item":{"type":"hologram"}}"#.to_owned()),
        Just(r#"{"type":"assistant","message":{"content":"text"}}"#.to_owned()),
        Just(r#"{"type":"tool_result","status":17}"#.to_owned()),
        Just(r#"{"type":["result"],"is_error":false}"#.to_owned()),
        Just("null".to_owned()),
        Just("[[[[".to_owned()),
        "[ -~äö漢\\x00]{0,80}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, rng_seed: RngSeed::Fixed(10), ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_order_and_whatever_is_between_the_verdict_is_the_same(
        which in any::<prop::sample::Index>(),
        order in any::<u64>(),
        between in prop::collection::vec((any::<prop::sample::Index>(), noise()), 0..12),
    ) {
        let streams = recorded();
        let stream = which.get(&streams);
        let (_, straight) = told(stream.translator().as_mut(), stream.text.as_bytes(), &exited(stream.code));
        let mut lines = stream.lines();
        // A cheap shuffle that is the same for the same number.
        let mut seed = order;
        for at in (1..lines.len()).rev() {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            lines.swap(at, usize::try_from(seed >> 33).unwrap() % (at + 1));
        }
        for (place, line) in between {
            let at = place.index(lines.len() + 1);
            lines.insert(at, line.replace('\n', " "));
        }
        let (_, shuffled) = told(stream.translator().as_mut(), lines.join("\n").as_bytes(), &exited(stream.code));
        prop_assert!(straight.is_success() || !shuffled.is_success(), "{}", stream.name);
        prop_assert_eq!(straight.is_success(), shuffled.is_success(), "{}", &stream.name);
    }

    #[test]
    fn random_bytes_are_never_a_success(
        which in any::<prop::sample::Index>(),
        bytes in prop::collection::vec(any::<u8>(), 0..4096),
        code in 0..3_i32,
    ) {
        let streams = recorded();
        let stream = which.get(&streams);
        let (_, verdict) = told(stream.translator().as_mut(), &bytes, &exited(code));
        prop_assert!(!verdict.is_success());
    }
}
