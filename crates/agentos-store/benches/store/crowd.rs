//! Waiters: as many as are asked for, each asking again as soon as it has its answer, all polled by one thread.
//!
//! This is how a driver of runs looks from below: many small tasks, few threads.

use crate::cpu::cpu as cpu_now;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

type Pending<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

#[derive(Default)]
struct Ready {
    numbers: Mutex<Vec<usize>>,
    news: Condvar,
}

struct Bell {
    number: usize,
    ready: Arc<Ready>,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.ready.numbers.lock().expect("nothing panics in here").push(self.number);
        self.ready.news.notify_one();
    }
}

/// What was seen.
pub(crate) struct Seen {
    pub(crate) commits: u64,
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
    /// How long each waited, in microseconds, sorted.
    pub(crate) waits_us: Vec<f64>,
}

impl Seen {
    pub(crate) fn quantile(&self, part: f64) -> f64 {
        let last = self.waits_us.len().saturating_sub(1);
        self.waits_us[(part * last as f64) as usize]
    }
}

/// Has `waiters` ask for `length`; `ask(n)` is what the n-th asks.
#[expect(clippy::disallowed_methods, reason = "time is what is measured")]
pub(crate) fn gather<'a>(
    waiters: usize,
    length: Duration,
    mut ask: impl FnMut(usize) -> Pending<'a>,
) -> Seen {
    let ready = Arc::new(Ready::default());
    let bells: Vec<Waker> = (0..waiters)
        .map(|number| Waker::from(Arc::new(Bell { number, ready: Arc::clone(&ready) })))
        .collect();
    let (began, cpu) = (Instant::now(), cpu_now());
    let mut open: Vec<Option<(Instant, Pending<'a>)>> =
        (0..waiters).map(|number| Some((Instant::now(), ask(number)))).collect();
    ready.numbers.lock().expect("nothing panics in here").extend(0..waiters);
    let mut waits_us = Vec::new();
    let mut left = waiters;
    while left > 0 {
        for number in next(&ready) {
            let Some((since, future)) = &mut open[number] else { continue };
            if future.as_mut().poll(&mut Context::from_waker(&bells[number])) == Poll::Pending {
                continue;
            }
            waits_us.push(since.elapsed().as_secs_f64() * 1e6);
            if began.elapsed() < length {
                open[number] = Some((Instant::now(), ask(number)));
                ready.numbers.lock().expect("nothing panics in here").push(number);
            } else {
                open[number] = None;
                left -= 1;
            }
        }
    }
    waits_us.sort_by(f64::total_cmp);
    let used = cpu_now() - cpu;
    Seen { commits: waits_us.len() as u64, wall: began.elapsed(), cpu: used, waits_us }
}

/// The same with a thread for each waiter.
#[expect(clippy::disallowed_methods, reason = "time is what is measured")]
pub(crate) fn gather_threads(waiters: usize, length: Duration, ask: impl Fn(usize) + Sync) -> Seen {
    let (began, cpu) = (Instant::now(), cpu_now());
    let mut waits_us: Vec<f64> = std::thread::scope(|scope| {
        let ask = &ask;
        let threads: Vec<_> = (0..waiters)
            .map(|number| {
                scope.spawn(move || {
                    let mut waits = Vec::new();
                    while began.elapsed() < length {
                        let since = Instant::now();
                        ask(number);
                        waits.push(since.elapsed().as_secs_f64() * 1e6);
                    }
                    waits
                })
            })
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("nothing panics in here"))
            .collect()
    });
    waits_us.sort_by(f64::total_cmp);
    let used = cpu_now() - cpu;
    Seen { commits: waits_us.len() as u64, wall: began.elapsed(), cpu: used, waits_us }
}

fn next(ready: &Ready) -> Vec<usize> {
    let mut numbers = ready.numbers.lock().expect("nothing panics in here");
    while numbers.is_empty() {
        numbers = ready.news.wait(numbers).expect("nothing panics in here");
    }
    std::mem::take(&mut *numbers)
}
