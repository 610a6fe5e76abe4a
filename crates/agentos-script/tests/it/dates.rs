//! Time and chance: the run's own, in UTC, whatever the machine says.

use std::process::Command;

use serde_json::json;

use crate::support::{Bench, START};

#[test]
fn the_clock_stands_at_the_latest_answer() {
    let driven = Bench::body(
        r#"
        const first = Date.now();
        await ctx.sleep(500);
        return [first, Date.now() - first, new Date().getTime() - first, new Date(first).toISOString()];
        "#,
    )
    .run();
    assert_eq!(*driven.output(), json!([START, 500, 500, "2023-11-14T22:13:20.000Z"]));
}

#[test]
fn chance_is_the_same_each_time() {
    let body =
        "const a = Math.random(); await ctx.shell('x'); return [a, Math.random(), Math.random()];";
    let drawn = Bench::body(body).run().output().clone();
    assert_eq!(*Bench::body(body).run().output(), drawn);
    assert_ne!(drawn[0], drawn[1]);
}

/// Every way to make a date, to take one apart and to write one.
const DATES: &str = r#"
    const at = (d: any) => new Date(d).toISOString();
    const d: any = new Date(2024, 6, 1, 12, 30, 15, 250);
    const set: any = new Date(0); set.setHours(5); set.setFullYear(2024); set.setMonth(6);
    const Again: any = d.constructor;
    class Mine extends Date { twice() { return this.getTime() * 2; } }
    return [
        at("2024-07-01"), at("2024-07-01T00:00:00"), at("2024-07-01 10:00"), at("2024-07-01T00:00:00+02:00"),
        at("Jul 1, 2024 10:00"), at("Mon, 01 Jul 2024 10:00:00 GMT"), at("July 1, 2024 10:00 EST"), at("2024"),
        at(1e12), at(new Date(5)), at({ valueOf: () => 7 }), at({ toString: () => "2024-07-01T01:00:00" }),
        Date.parse("2024-07-01T00:00:00"), Number.isNaN(Date.parse("never")), Date.UTC(2024, 0),
        d.toISOString(), d.getHours(), d.getDay(), d.getTimezoneOffset(), d.getYear(), set.toISOString(),
        d.toString(), d.toDateString(), d.toTimeString(), d.toLocaleString(), d.toLocaleDateString(), d.toLocaleTimeString(),
        `${d}`, JSON.stringify(d), typeof (Date as any)(), new Mine(4).twice(), new Mine(4) instanceof Date,
        new Date().constructor === Date, new Again("2024-07-01T00:00:00").getTime(),
        Date.length, Date.name, Number.isNaN(new Date(NaN).getTime()),
    ];
"#;

fn dates() -> serde_json::Value {
    Bench::body(DATES).run_once().output().clone()
}

#[test]
fn every_date_is_in_utc() {
    let dates = dates();
    let expected = json!([
        "2024-07-01T00:00:00.000Z",
        "2024-07-01T00:00:00.000Z",
        "2024-07-01T10:00:00.000Z",
        "2024-06-30T22:00:00.000Z",
        "2024-07-01T10:00:00.000Z",
        "2024-07-01T10:00:00.000Z",
        "2024-07-01T15:00:00.000Z",
        "2024-01-01T00:00:00.000Z",
        "2001-09-09T01:46:40.000Z",
        "1970-01-01T00:00:00.005Z",
        "1970-01-01T00:00:00.007Z",
        "2024-07-01T01:00:00.000Z",
        1_719_792_000_000_i64,
        true,
        1_704_067_200_000_i64,
        "2024-07-01T12:30:15.250Z",
        12,
        1,
        0,
        124,
        "2024-07-01T05:00:00.000Z",
        "Mon, 01 Jul 2024 12:30:15 GMT",
        "2024-07-01",
        "12:30:15 GMT",
        "2024-07-01 12:30:15",
        "2024-07-01",
        "12:30:15",
        "Mon, 01 Jul 2024 12:30:15 GMT",
        "\"2024-07-01T12:30:15.250Z\"",
        "string",
        8,
        true,
        true,
        1_719_792_000_000_i64,
        7,
        "Date",
        true,
    ]);
    assert_eq!(dates, expected);
}

/// Set for a process that is to print its dates.
const ZONE_PART: &str = "AGENTOS_SCRIPT_TEST_ZONE";

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a time zone belongs to a process; the test starts its own binary"
)]
fn the_time_zone_of_the_machine_makes_no_difference() {
    if std::env::var_os(ZONE_PART).is_some() {
        assert_eq!(std::env::var("TZ").as_deref(), Ok("America/New_York"));
        every_date_is_in_utc();
        return;
    }
    let own = std::env::current_exe().expect("a test knows its binary");
    let name = "dates::the_time_zone_of_the_machine_makes_no_difference";
    let output = Command::new(own)
        .args(["--exact", name])
        .env(ZONE_PART, "1")
        .env("TZ", "America/New_York")
        .output()
        .expect("the test binary runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
}
