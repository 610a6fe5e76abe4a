//! Two to eight futures, each of its own type.

use std::future::poll_fn;
use std::task::Poll;

use super::branch::Branch;

/// Futures that can be waited for together: tuples of two to eight.
pub trait Join {
    /// What each of them came to.
    type Outputs;

    /// See [`join()`].
    fn join(self) -> impl Future<Output = Self::Outputs>;
}

/// Futures of results that can be waited for together: tuples of two to eight.
pub trait TryJoin {
    /// Their results.
    type Results;
    /// What any of them may fail with.
    type Error;

    /// See [`try_join`].
    fn try_join(self) -> impl Future<Output = Result<Self::Results, Self::Error>>;
}

/// Futures of one output that can be raced: tuples of two to eight.
pub trait Race {
    /// What each of them may come to.
    type Output;

    /// See [`race`].
    fn race(self) -> impl Future<Output = Self::Output>;
}

/// Waits until all are done, and gives what each came to, worked or not: `join((a, b)).await`.
pub fn join<J: Join>(futures: J) -> impl Future<Output = J::Outputs> {
    futures.join()
}

/// Waits until all have worked, and gives their results; or the first failure at once: `try_join((a, b)).await?`.
pub fn try_join<J: TryJoin>(futures: J) -> impl Future<Output = Result<J::Results, J::Error>> {
    futures.try_join()
}

/// Waits for the first that is done, whether it worked or not: `race((a, b)).await`. If two are, it is the one that
/// stands first.
pub fn race<R: Race>(futures: R) -> impl Future<Output = R::Output> {
    futures.race()
}

/// Which of two was first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Either<A, B> {
    /// The first, and what it came to.
    Left(A),
    /// The second, and what it came to.
    Right(B),
}

/// Waits for the first of two that is done, which may be of different types: work and a timer, say.
pub fn either<A: IntoFuture, B: IntoFuture>(
    left: A,
    right: B,
) -> impl Future<Output = Either<A::Output, B::Output>> {
    let (mut left, mut right) = (Branch::new(left), Branch::new(right));
    poll_fn(move |cx| {
        left.advance(cx);
        right.advance(cx);
        if let Some(output) = left.take() {
            return Poll::Ready(Either::Left(output));
        }
        right.take().map_or(Poll::Pending, |output| Poll::Ready(Either::Right(output)))
    })
}

macro_rules! tuples {
    ($($future:ident $result:ident),+) => {
        impl<$($future: IntoFuture),+> Join for ($($future,)+) {
            type Outputs = ($($future::Output,)+);

            #[expect(non_snake_case, reason = "a branch is called like its type")]
            fn join(self) -> impl Future<Output = Self::Outputs> {
                let ($($future,)+) = self;
                $(let mut $future = Branch::new($future);)+
                poll_fn(move |cx| {
                    let mut open = false;
                    $(open |= !$future.advance(cx);)+
                    if open {
                        return Poll::Pending;
                    }
                    match ($($future.take(),)+) {
                        ($(Some($future),)+) => Poll::Ready(($($future,)+)),
                        _ => Poll::Pending,
                    }
                })
            }
        }

        impl<Failure, $($result,)+ $($future),+> TryJoin for ($($future,)+)
        where
            $($future: IntoFuture<Output = Result<$result, Failure>>),+
        {
            type Results = ($($result,)+);
            type Error = Failure;

            #[expect(non_snake_case, reason = "a branch is called like its type")]
            fn try_join(self) -> impl Future<Output = Result<Self::Results, Failure>> {
                let ($($future,)+) = self;
                $(let mut $future = Branch::new($future);)+
                poll_fn(move |cx| {
                    let mut open = false;
                    $(open |= !$future.advance(cx);)+
                    $(
                        if let Some(failure) = $future.take_failure() {
                            return Poll::Ready(Err(failure));
                        }
                    )+
                    if open {
                        return Poll::Pending;
                    }
                    match ($($future.take(),)+) {
                        ($(Some(Ok($future)),)+) => Poll::Ready(Ok(($($future,)+))),
                        _ => Poll::Pending,
                    }
                })
            }
        }

        impl<Output, $($future: IntoFuture<Output = Output>),+> Race for ($($future,)+) {
            type Output = Output;

            #[expect(non_snake_case, reason = "a branch is called like its type")]
            fn race(self) -> impl Future<Output = Output> {
                let ($($future,)+) = self;
                $(let mut $future = Branch::new($future);)+
                poll_fn(move |cx| {
                    $($future.advance(cx);)+
                    $(
                        if let Some(output) = $future.take() {
                            return Poll::Ready(output);
                        }
                    )+
                    Poll::Pending
                })
            }
        }
    };
}

tuples!(A RA, B RB);
tuples!(A RA, B RB, C RC);
tuples!(A RA, B RB, C RC, D RD);
tuples!(A RA, B RB, C RC, D RD, E RE);
tuples!(A RA, B RB, C RC, D RD, E RE, F RF);
tuples!(A RA, B RB, C RC, D RD, E RE, F RF, G RG);
tuples!(A RA, B RB, C RC, D RD, E RE, F RF, G RG, H RH);
