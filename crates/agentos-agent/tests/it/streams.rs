//! Recorded streams of the real programs: every event and every verdict, as snapshots.

use agentos_agent::usage::{Baseline, Usage};
use agentos_agent::verdict::TroubleKind;
use serde_json::json;

use super::part::{exited, member, recorded, told};

#[test]
fn every_recorded_stream_says_what_it_said() {
    for stream in recorded() {
        let mut translator = stream.translator();
        let (events, verdict) =
            told(translator.as_mut(), stream.text.as_bytes(), &exited(stream.code));
        let said = json!({ "events": events, "verdict": verdict });
        insta::assert_json_snapshot!(stream.name.clone(), said);
    }
}

#[test]
fn only_streams_that_went_well_are_successes() {
    let good = ["e2e-ok", "resume-ok", "resume-after-kill9-sleep"];
    for stream in recorded() {
        let (_, verdict) =
            told(stream.translator().as_mut(), stream.text.as_bytes(), &exited(stream.code));
        let is_good = good.iter().any(|good| stream.name.ends_with(good));
        assert_eq!(verdict.is_success(), is_good, "{}: {:?}", stream.name, verdict.trouble);
    }
}

#[test]
fn each_failure_is_of_its_kind() {
    let kinds = [
        ("claude-E-e400", TroubleKind::Request),
        ("claude-E-e429", TroubleKind::RateLimit),
        ("claude-E-e500", TroubleKind::Api),
        ("claude-E-malformed", TroubleKind::Malformed),
        ("claude-nokey", TroubleKind::Auth),
        ("claude-c-maxturns", TroubleKind::MaxTurns),
        ("claude-c-default", TroubleKind::PermissionDenied),
        ("claude-S-sleep-SIGINT-pid", TroubleKind::Killed),
        ("codex-E-e400", TroubleKind::Request),
        ("codex-E-e429", TroubleKind::RateLimit),
        ("codex-E-e500", TroubleKind::Api),
        ("codex-E-malformed", TroubleKind::Dropped),
        ("gemini-E-e400", TroubleKind::Request),
        ("gemini-E-e429", TroubleKind::RateLimit),
        ("gemini-E-malformed", TroubleKind::Malformed),
        ("gemini-S-sleep-SIGINT-pid", TroubleKind::Dropped),
    ];
    for stream in recorded() {
        let Some((_, kind)) = kinds.iter().find(|(name, _)| *name == stream.name) else { continue };
        let (_, verdict) =
            told(stream.translator().as_mut(), stream.text.as_bytes(), &exited(stream.code));
        let trouble = verdict.trouble.expect("trouble");
        assert_eq!(trouble.kind, *kind, "{}: {}", stream.name, trouble.message);
    }
}

#[test]
fn a_good_word_does_not_make_up_for_a_bad_exit() {
    for stream in recorded() {
        for code in [1, 2, 137, 143] {
            let (_, verdict) =
                told(stream.translator().as_mut(), stream.text.as_bytes(), &exited(code));
            assert!(!verdict.is_success(), "{} with {code}", stream.name);
        }
    }
}

#[test]
fn usage_of_a_resumed_session_is_the_difference() {
    let before = Baseline {
        usage: Usage { input_tokens: 300, output_tokens: 50, cached_tokens: 60 },
        cost_usd: 0.001_518,
        is_short: false,
    };
    for stream in recorded() {
        if !stream.name.ends_with("resume-ok") {
            continue;
        }
        let mut translator = member(&stream.agent).agent.translator(before);
        let (_, verdict) = told(translator.as_mut(), stream.text.as_bytes(), &exited(0));
        let expected = Usage { input_tokens: 150, output_tokens: 25, cached_tokens: 30 };
        assert_eq!(verdict.usage, expected, "{}", stream.name);
        if let Some(cost) = verdict.cost_usd {
            assert!((cost - 0.000_759).abs() < 1e-9, "{}: {cost}", stream.name);
        }
    }
}
