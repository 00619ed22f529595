//! Tasks: futures that run beside the task that spawned them, on the same thread; and work that would block it.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use crate::ambient::{self, WorldKind};
use crate::sim;

/// Starts a task on the current world (and, in the simulated one, on the current node). It need not
/// be `Send`. Dropping the handle lets the task run on.
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
{
    let shared = Rc::new(RefCell::new(JoinState { output: None, waiter: None }));
    let handle = JoinHandle(Rc::clone(&shared));
    // An async block has room for its captures and again for the future that it awaits: unboxed, each task would be twice as
    // large as its future, and moved whole.
    let future = Box::pin(future);
    // As a trait object, so that tokio's code for a task is compiled once and not for each future.
    let task: Pin<Box<dyn Future<Output = ()>>> = Box::pin(async move {
        let output = future.await;
        let waiter = {
            let mut shared = shared.borrow_mut();
            shared.output = Some(output);
            shared.waiter.take()
        };
        if let Some(waiter) = waiter {
            waiter.wake();
        }
    });
    match ambient::kind() {
        WorldKind::Sim => sim::executor::spawn(task),
        _ => drop(tokio::task::spawn_local(task)),
    }
    handle
}

/// A spawned task's output, to be awaited or dropped.
pub struct JoinHandle<T>(Rc<RefCell<JoinState<T>>>);

struct JoinState<T> {
    output: Option<T>,
    waiter: Option<Waker>,
}

impl<T> JoinHandle<T> {
    /// True if the output is available.
    pub fn is_finished(&self) -> bool {
        self.0.borrow().output.is_some()
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let mut shared = self.0.borrow_mut();
        match shared.output.take() {
            Some(output) => Poll::Ready(output),
            None => {
                shared.waiter = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

/// Runs `work` off the world's thread. In the simulated world it runs at once and takes no time.
///
/// # Panics
/// If `work` does.
pub async fn blocking<T, F>(work: F) -> T
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    match ambient::kind() {
        WorldKind::Sim => work(),
        _ => tokio::task::spawn_blocking(work)
            .await
            .expect("work is not cancelled while its world runs, and must not panic"),
    }
}
